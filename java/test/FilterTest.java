import besom.Filter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32;

/** Tests of besom.Filter: java FilterTest VECTORS QUERIES. */
public final class FilterTest {
  private interface Test {
    void run() throws Exception;
  }

  private static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  private static Filter.Failure fails(int status, Test test) throws Exception {
    try {
      test.run();
    } catch (Filter.Failure failure) {
      check(failure.status == status, "status " + failure.status + ": " + failure.getMessage());
      return failure;
    }
    throw new AssertionError("no failure, but status " + status + " was expected");
  }

  private static List<byte[]> keys(String prefix, int n) {
    List<byte[]> all = new ArrayList<>();
    for (int i = 0; i < n; i++) all.add((prefix + i).getBytes());
    return all;
  }

  static void learnsAndForgetsNothing() throws Exception {
    try (Filter f = Filter.of("aqf").capacity(1000).fpr(0.1).create()) {
      for (int i = 0; i < 1000; i++) f.add("member " + i);
      for (int i = 0; i < 5000; i++) {
        String absent = "absent " + i;
        if (f.contains(absent)) {
          try {
            f.report(absent);
          } catch (Filter.Failure full) {
            check(full.status == Filter.RESERVE_FULL, full.getMessage());
            break;
          }
          check(!f.contains(absent), "a reported key is answered yes");
        }
      }
      for (int i = 0; i < 1000; i++) check(f.contains("member " + i), "a member is denied");
      check(f.size() == 1000 && f.count("member 7".getBytes()) >= 1 && f.bitsPerKey() > 4, "statistics");
      check(f.kind().equals("aqf") && f.bytes() > 500, "kind, bytes");
      f.remove("member 7");
      check(f.size() == 999, "size after remove");
      fails(Filter.NOT_FOUND, () -> f.remove("a key that is not there, and matches nothing at all"));
    }
  }

  static void keysOfAllLengths() {
    try (Filter f = Filter.of("aqf").capacity(5000).fpr(1e-6).create()) {
      for (int n = 0; n < 1100; n += 17) f.add(new byte[n]);
      for (int n = 0; n < 1100; n += 17) check(f.contains(new byte[n]), "length " + n);
      check(!f.contains(new byte[1]), "length 1");
      f.add(0x0102030405060708L);
      check(f.contains(new byte[] {8, 7, 6, 5, 4, 3, 2, 1}), "a long is its 8 little-endian bytes");
      f.add("Grüße");
      check(f.contains("Grüße".getBytes(java.nio.charset.StandardCharsets.UTF_8)), "a string is UTF-8");
    }
  }

  /** Every call on one key takes each form of it. */
  static void integersAreTheirBytes() {
    try (Filter f = Filter.of("aqf").capacity(1000).fpr(1.0 / 16).seed(new byte[16]).create()) {
      f.add(5L);
      f.add(new byte[] {5, 0, 0, 0, 0, 0, 0, 0});
      f.add("pear");
      check(f.count(5L) == 2 && f.count("pear") >= 1, "copies of an integer, and of a string");
      f.remove(5L);
      check(f.count(5L) == 1, "a copy of an integer is left");
      for (long i = 1000; i < 1900; i++) f.add(i);
      long wrong = 2000;
      while (!f.contains(wrong)) wrong++;
      f.report(wrong);
      check(!f.contains(wrong), "a reported integer is answered yes");
    }
  }

  static void manyKeys() throws Exception {
    try (Filter f = Filter.of("blocked-bloom").capacity(20000).fpr(1e-4).create()) {
      long[] keys = new long[1000], asked = new long[1333];
      for (int i = 0; i < keys.length; i++) keys[i] = 3L * i;
      for (int i = 0; i < asked.length; i++) asked[i] = i;
      f.addMany(keys);
      BitSet found = f.containsMany(asked);
      ByteBuffer packed = ByteBuffer.allocateDirect(8 * asked.length).order(ByteOrder.LITTLE_ENDIAN);
      int[] ends = new int[asked.length];
      for (int i = 0; i < asked.length; i++) {
        packed.putLong(asked[i]);
        ends[i] = 8 * (i + 1);
        check(found.get(i) == f.contains(asked[i]) && (i % 3 != 0 || found.get(i)), "key " + i);
      }
      check(found.equals(f.containsMany(packed, ends)), "the answers to packed keys differ");
      ends[5] = 8 * asked.length + 1;
      fails(Filter.INVALID, () -> f.containsMany(packed, ends));
      ends[5] = -1;
      fails(Filter.INVALID, () -> f.containsMany(packed, ends));
      check(f.containsMany(new long[0]).isEmpty(), "no keys");
    }
  }

  static void aBatchThatFailsTellsHowManyKeysItHasAdded() throws Exception {
    long[] keys = new long[2000];
    for (int i = 0; i < keys.length; i++) keys[i] = i;
    try (Filter f = Filter.of("qf").capacity(600).fpr(1e-6).create()) {
      Filter.Failure full = fails(Filter.FULL, () -> f.addMany(keys));
      check(full.done >= 600 && full.done == f.size(), full.done + " keys, and " + f.size());
      check(fails(Filter.NOT_FOUND, () -> f.remove("none such")).done == 0, "another call has added keys");
    }
  }

  static void buildsExactLists() throws Exception {
    List<byte[]> yes = keys("bad", 3000), no = keys("good", 3000);
    try (Filter f = Filter.of("yesno").build(yes, no); Filter ribbon = Filter.of("ribbon").build(yes)) {
      for (byte[] key : yes) check(f.contains(key) && ribbon.contains(key), "a key of the yes list is denied");
      for (byte[] key : no) check(!f.contains(key), "a key of the no list is answered yes");
      fails(Filter.UNSUPPORTED, () -> ribbon.add("more"));
    }
    fails(Filter.IS_MEMBER, () -> Filter.of("yesno").build(yes, yes));
    Iterator<byte[]> broken = new Iterator<>() {
      public boolean hasNext() {
        return true;
      }

      public byte[] next() {
        throw new IllegalArgumentException("from the iterator");
      }
    };
    try {
      Filter.of("ribbon").build(() -> broken);
      check(false, "the exception of an iterator is lost");
    } catch (IllegalArgumentException expected) {
      check(expected.getMessage().equals("from the iterator"), expected.getMessage());
    }
  }

  static void errorsHaveReasons() throws Exception {
    check(fails(Filter.UNKNOWN_KIND, () -> Filter.of("nothing").capacity(9).create()).getMessage().contains("nothing"), "kind");
    fails(Filter.BAD_OPTION, () -> Filter.of("aqf").capacity(9).options("no=such").create());
    String text = fails(Filter.INVALID, () -> Filter.of("aqf").capacity(9).fpr(2).create()).getMessage();
    check(text.contains("fpr"), text);
    text = fails(Filter.IO, () -> Filter.open(Path.of("/nowhere/at/all"))).getMessage();
    check(text.contains("No such file"), text);
    fails(Filter.CORRUPT, () -> Filter.load(new byte[] {1, 2, 3}));
    Filter full = Filter.of("aqf").capacity(64).create();
    fails(Filter.FULL, () -> {
      for (long i = 0; i < 1000; i++) full.add(i);
    });
    full.close();
    full.close();
    try {
      full.contains(1);
      check(false, "a closed filter answers");
    } catch (IllegalStateException expected) {
      check(expected.getMessage().contains("closed"), expected.getMessage());
    }
  }

  static void filesAndMerges() throws Exception {
    Path path = Files.createTempFile("filter", ".besom");
    try (Filter a = Filter.of("aqf").capacity(1000).create(); Filter b = a.empty()) {
      a.add("left");
      b.add("right");
      try (Filter both = a.merge(b); Filter other = b.merge(a); Filter twice = a.merge(a)) {
        check(both.contains("left") && both.contains("right") && other.contains("left") && twice.size() == 2, "merge");
        both.save(path);
        try (Filter opened = Filter.open(path); Filter mapped = Filter.openMapped(path); Filter loaded = Filter.load(both.toBytes())) {
          check(opened.contains("right") && mapped.contains("right") && loaded.contains("left"), "files");
          check(java.util.Arrays.equals(both.toBytes(), Files.readAllBytes(path)), "bytes");
          fails(Filter.READ_ONLY, () -> mapped.add("more"));
        }
      }
      try (Filter foreign = Filter.of("aqf").capacity(2000).create()) {
        fails(Filter.INCOMPATIBLE, () -> a.merge(foreign));
      }
    } finally {
      Files.delete(path);
    }
  }

  static void setKeepsEachKeyOnce() throws Exception {
    try (Filter f = Filter.of("aqf").capacity(100).set().create()) {
      for (int i = 0; i < 10000; i++) f.add(i % 50);
      check(f.size() <= 50, "size " + f.size());
      fails(Filter.UNSUPPORTED, () -> f.remove("1"));
    }
  }

  /** Readers beside a writer, merges in both directions, and a close: nobody waits for ever, no key is denied. */
  static void threads() throws Exception {
    Filter f = Filter.of("aqf").capacity(50000).create(), g = f.empty();
    AtomicInteger written = new AtomicInteger(), wrong = new AtomicInteger();
    List<Thread> all = new ArrayList<>();
    all.add(new Thread(() -> {
      for (int i = 0; i < 20000; i++) {
        f.add((long) i);
        if (i % 100 == 0) g.add((long) i);
        written.set(i + 1);
      }
    }));
    for (int r = 0; r < 3; r++) {
      int seed = r;
      all.add(new Thread(() -> {
        for (int i = 0; i < 20000; i++) {
          int below = written.get();
          if (below > 0 && !f.contains((i * 7919L + seed) % below)) wrong.incrementAndGet();
          if (i % 2000 == 0) (seed == 0 ? f.merge(g) : g.merge(f)).close();
        }
      }));
    }
    for (Thread thread : all) thread.start();
    for (Thread thread : all) thread.join();
    check(wrong.get() == 0, wrong + " members were denied");
    f.close();
    g.close();
  }

  static void forgottenFiltersAreFreed() throws Exception {
    for (int i = 0; i < 2000; i++) {
      Filter.of("blocked-bloom").capacity(1_000_000).create().add(1L); // 1.5 MB: 3 GB if they stay
      if (i % 100 == 99) {
        System.gc();
        Thread.sleep(5);
      }
    }
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) check(Long.parseLong(line.replaceAll("\\D", "")) < 1_500_000, line);
    }
  }

  // ---------------------------------------------------------------- tests/vectors

  private static final long GOLDEN = 0x9e3779b97f4a7c15L;

  private static long mix(long x) {
    x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
    x = (x ^ x >>> 27) * 0x94d049bb133111ebL;
    return x ^ x >>> 31;
  }

  private static boolean answer(Filter f, long n) {
    long r = mix((n + 1) * GOLDEN);
    if ((r & 3) == 0) return f.contains(mix(r));
    int length = (int) ((r >>> 8) % 301 + 301) % 301; // r >>> 8 is not negative
    ByteBuffer key = ByteBuffer.allocate(304).order(ByteOrder.LITTLE_ENDIAN);
    for (long k = 1; key.position() < length; k++) key.putLong(mix(r + k * GOLDEN));
    return f.contains(java.util.Arrays.copyOf(key.array(), length));
  }

  static void vectors(Path directory, int queries) throws IOException {
    int files = 0;
    for (String line : Files.readAllLines(directory.resolve("expected.txt"))) {
      String[] fields = line.split(" ");
      byte[] answers = new byte[queries / 8];
      try (Filter f = Filter.openMapped(directory.resolve(fields[0]))) {
        for (int i = 0; i < queries; i++) {
          long s = mix(i ^ 0x76656374L);
          long n = (s & 1) == 1 ? (s >>> 1) % 3000 : 3000L + i;
          if (answer(f, n)) answers[i / 8] |= (byte) (1 << i % 8);
        }
      } catch (Filter.Failure failure) {
        check(failure.status == Filter.UNKNOWN_KIND, fields[0] + ": " + failure.getMessage());
        continue; // built without the published systems
      }
      CRC32 crc = new CRC32();
      crc.update(answers);
      check(crc.getValue() == Long.parseLong(fields[queries == 1 << 14 ? 1 : 3], 16), fields[0] + ": other answers");
      files++;
    }
    check(files >= 30, files + " files");
  }

  private static int failed = 0, passed = 0;

  private static void run(String name, Test test) {
    try {
      test.run();
      passed++;
    } catch (Throwable error) {
      failed++;
      System.out.println(name + ":");
      error.printStackTrace(System.out);
    }
  }

  public static void main(String[] arguments) {
    run("learnsAndForgetsNothing", FilterTest::learnsAndForgetsNothing);
    run("keysOfAllLengths", FilterTest::keysOfAllLengths);
    run("integersAreTheirBytes", FilterTest::integersAreTheirBytes);
    run("manyKeys", FilterTest::manyKeys);
    run("aBatchThatFailsTellsHowManyKeysItHasAdded", FilterTest::aBatchThatFailsTellsHowManyKeysItHasAdded);
    run("buildsExactLists", FilterTest::buildsExactLists);
    run("errorsHaveReasons", FilterTest::errorsHaveReasons);
    run("filesAndMerges", FilterTest::filesAndMerges);
    run("setKeepsEachKeyOnce", FilterTest::setKeepsEachKeyOnce);
    run("threads", FilterTest::threads);
    run("forgottenFiltersAreFreed", FilterTest::forgottenFiltersAreFreed);
    run("vectors", () -> vectors(Path.of(arguments[0]), 1 << 14));
    System.out.println(passed + " passed, " + failed + " failed");
    if (failed > 0) System.exit(1);
  }
}
