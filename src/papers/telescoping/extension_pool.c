#include "papers/telescoping/extension_pool.h"

#define PIECE 56       /* bits that fit into a word at any bit offset in a byte */
#define PADDING 8      /* bytes after the last page, because words are read from any byte on */
#define LEAST_LIMIT 64 /* of a tiny filter: the longest extension fits */

static uint64_t block_bytes(const struct extension_pool *p) {
  return 8 + 2 + 8 * (p->budget - 1);
}

struct extension_pool besom__pool_of(uint64_t slots, uint64_t blocks, uint64_t budget) {
  uint64_t limit = slots * (budget - 1);
  return (struct extension_pool){
      .blocks = blocks, .budget = budget, .limit = limit > LEAST_LIMIT ? limit : LEAST_LIMIT};
}

uint64_t besom__pool_bytes(const struct extension_pool *p) {
  return p->blocks * block_bytes(p) + PADDING;
}

/* ------------------------------------------------------------------ pages */

struct page {
  uint8_t *presence, *lengths, *extensions;
  unsigned blocks;
  uint64_t bits; /* for extensions */
};

static struct page page_of(const struct extension_pool *p, uint64_t block) {
  uint64_t first = block / POOL_PAGE_BLOCKS * POOL_PAGE_BLOCKS, left = p->blocks - first;
  unsigned n = left < POOL_PAGE_BLOCKS ? (unsigned)left : POOL_PAGE_BLOCKS;
  uint8_t *at = p->bytes + first * block_bytes(p);
  return (struct page){at, at + 8 * n, at + 10 * n, n, 64 * n * (p->budget - 1)};
}

static unsigned length_at(const struct page *page, unsigned i) {
  return page->lengths[2 * i] | (unsigned)page->lengths[2 * i + 1] << 8;
}

static void set_length(const struct page *page, unsigned i, uint64_t bits) {
  page->lengths[2 * i] = (uint8_t)bits;
  page->lengths[2 * i + 1] = (uint8_t)(bits >> 8);
}

/* The bits of the first n blocks: where the extensions of the next block begin. */
static uint64_t bits_before(const struct page *page, unsigned n) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < n; i++) bits += length_at(page, i);
  return bits;
}

/* ------------------------------------------------------------------ bit strings */

static uint64_t extension_pool_get_bits(const uint8_t *from, uint64_t at, unsigned n) {
  return load64(from + at / 8) >> (at % 8) & bits_below(n);
}

static void extension_pool_put_bits(uint8_t *to, uint64_t at, uint64_t bits, unsigned n) {
  uint64_t word = load64(to + at / 8), mask = bits_below(n) << (at % 8);
  store64(to + at / 8, (word & ~mask) | bits << (at % 8));
}

/* Copies n bits. The two ranges may overlap within one page. */
static void copy_bits(uint8_t *to, uint64_t to_at, const uint8_t *from, uint64_t from_at,
                      uint64_t n) {
  bool backwards = to == from && to_at > from_at;
  for (uint64_t done = 0; done < n;) {
    unsigned piece = n - done < PIECE ? (unsigned)(n - done) : PIECE;
    uint64_t at = backwards ? n - done - piece : done;
    extension_pool_put_bits(to, to_at + at, extension_pool_get_bits(from, from_at + at, piece),
                            piece);
    done += piece;
  }
}

static void clear_bits(uint8_t *to, uint64_t from, uint64_t end) {
  for (; from < end; from += end - from < PIECE ? end - from : PIECE)
    extension_pool_put_bits(to, from, 0, end - from < PIECE ? (unsigned)(end - from) : PIECE);
}

/* ------------------------------------------------------------------ extensions */

uint64_t besom__pool_presence(const struct extension_pool *p, uint64_t block) {
  return load64(page_of(p, block).presence + 8 * (block % POOL_PAGE_BLOCKS));
}

void besom__pool_read(const struct extension_pool *p, uint64_t block, slot_meta *meta) {
  struct page page = page_of(p, block);
  unsigned i = block % POOL_PAGE_BLOCKS;
  uint64_t left = load64(page.presence + 8 * i), at = left ? bits_before(&page, i) : 0;
  memset(meta, 0, CODE_SLOTS * sizeof *meta);
  for (; left; left &= left - 1) {
    if (at > page.bits) at = page.bits; /* only in a corrupt pool */
    uint64_t window = extension_pool_get_bits(page.extensions, at, PIECE);
    unsigned length = trailing_zeros(~window) + 1;
    if (length > MAX_META_EXTENSION) length = MAX_META_EXTENSION;
    meta[trailing_zeros(left)] =
        (slot_meta)(UINT64_C(1) << length | (window >> length & bits_below(length)));
    at += 2 * length;
  }
}

uint64_t besom__pool_cost(const slot_meta *meta) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < CODE_SLOTS; i++) bits += meta[i] ? 2 * extension_length(meta[i]) : 0;
  return bits;
}

uint64_t besom__pool_cost_of(const struct extension_pool *p, uint64_t block) {
  struct page page = page_of(p, block);
  return length_at(&page, block % POOL_PAGE_BLOCKS);
}

/* Writes the extensions of a block as a page holds them. Returns the presence word. */
static uint64_t extension_pool_encode(const slot_meta *meta, uint8_t *out) {
  uint64_t presence = 0, at = 0;
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    slot_meta extension = meta[i];
    if (!extension) continue;
    unsigned length = extension_length(extension);
    uint64_t bits = extension ^ UINT64_C(1) << length;
    extension_pool_put_bits(out, at, bits_below(length - 1) | bits << length, 2 * length);
    presence |= UINT64_C(1) << i;
    at += 2 * length;
  }
  return presence;
}

bool besom__pool_write(struct extension_pool *p, uint64_t block, const slot_meta *meta) {
  uint8_t extensions[CODE_SLOTS * 2 * MAX_META_EXTENSION / 8 + PADDING] = {0};
  struct page page = page_of(p, block);
  unsigned i = block % POOL_PAGE_BLOCKS;
  uint64_t begin = bits_before(&page, i), old = length_at(&page, i), new = besom__pool_cost(meta);
  uint64_t end = bits_before(&page, page.blocks), new_end = end - old + new;
  if (end > page.bits || new_end > page.bits) return false; /* the former in a corrupt pool only */
  store64(page.presence + 8 * i, extension_pool_encode(meta, extensions));
  copy_bits(page.extensions, begin + new, page.extensions, begin + old, end - begin - old);
  copy_bits(page.extensions, begin, extensions, 0, new);
  if (new_end < end) clear_bits(page.extensions, new_end, end);
  set_length(&page, i, new);
  p->used += new - old;
  return true;
}

uint64_t besom__pool_free_bits(const struct extension_pool *p, uint64_t block) {
  struct page page = page_of(p, block);
  uint64_t used = bits_before(&page, page.blocks);
  uint64_t in_page = page.bits > used ? page.bits - used : 0,
           in_all = p->limit > p->used ? p->limit - p->used : 0;
  return in_page < in_all ? in_page : in_all;
}

/* ------------------------------------------------------------------ checking */

/* Checks that the bits are exactly what writing the extensions would produce. */
static const char *check_page(const struct extension_pool *p, uint64_t first, uint64_t *used) {
  struct page page = page_of(p, first);
  slot_meta meta[CODE_SLOTS];
  uint64_t end = bits_before(&page, page.blocks), at = 0;
  if (end > page.bits) return "the extensions of a page exceed its size";
  for (unsigned i = 0; i < page.blocks; i++) {
    uint8_t extensions[CODE_SLOTS * 2 * MAX_META_EXTENSION / 8 + PADDING] = {0};
    besom__pool_read(p, first + i, meta);
    extension_pool_encode(meta, extensions);
    uint64_t bits = besom__pool_cost(meta);
    if (bits != length_at(&page, i)) return "the length of a block's extensions is wrong";
    for (uint64_t done = 0; done < bits; done += PIECE) {
      unsigned piece = bits - done < PIECE ? (unsigned)(bits - done) : PIECE;
      if (extension_pool_get_bits(extensions, done, piece) !=
          extension_pool_get_bits(page.extensions, at + done, piece))
        return "a block's extensions are not well formed";
    }
    at += bits;
  }
  for (; end < page.bits; end += end % 8 ? 1 : 8)
    if (extension_pool_get_bits(page.extensions, end, end % 8 ? 1 : 8))
      return "a page has bits after its extensions";
  *used += at;
  return NULL;
}

const char *besom__pool_check(const struct extension_pool *p) {
  uint64_t used = 0;
  const char *wrong = NULL;
  for (uint64_t first = 0; first < p->blocks && !wrong; first += POOL_PAGE_BLOCKS)
    wrong = check_page(p, first, &used);
  if (wrong) return wrong;
  if (load64(p->bytes + besom__pool_bytes(p) - PADDING))
    return "there are bits after the last page";
  return used == p->used ? NULL : "the number of bits of extensions is wrong";
}
