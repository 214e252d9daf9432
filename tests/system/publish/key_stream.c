/* key_stream FROM TO [STRIDE]: prints distinct keys of 32 hexadecimal digits, one per line: those
 * with the numbers FROM to TO - 1, or every STRIDE-th of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 32, BUFFERED_KEYS = 4096 };

/* A bijection (the finalizer of SplitMix64): keys with different numbers differ. */
static uint64_t mixed(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void write_hex(char *to, uint64_t x) {
  for (int i = 0; i < 16; i++, x >>= 4) to[i] = "0123456789abcdef"[x & 15];
}

int main(int argc, char **argv) {
  static char buffer[BUFFERED_KEYS][KEY_BYTES + 1];
  if (argc < 3) return 2;
  uint64_t to = strtoull(argv[2], NULL, 10), stride = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  size_t n = 0;
  for (uint64_t i = strtoull(argv[1], NULL, 10); i < to; i += stride) {
    write_hex(buffer[n], mixed(i + 1));
    write_hex(buffer[n] + 16, mixed(~i));
    buffer[n++][KEY_BYTES] = '\n';
    if (n == BUFFERED_KEYS && fwrite(buffer, sizeof *buffer, n, stdout) != n) return 1;
    if (n == BUFFERED_KEYS) n = 0;
  }
  return fwrite(buffer, sizeof *buffer, n, stdout) == n && fflush(stdout) == 0 ? 0 : 1;
}
