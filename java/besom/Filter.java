package besom;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.BitSet;
import java.util.Iterator;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/**
 * A set of keys that answers with false positives, but never with a false no. A false positive that
 * is reported does not come back.
 *
 * <p>Keys are byte strings; a String is its bytes in UTF-8, a long its 8 little-endian bytes. All
 * methods are safe for threads: queries run side by side, a change waits for them. {@link #close}
 * frees the filter at once, else the garbage collector does. docs/java.md is the manual, besom.h the
 * reference of the calls.
 */
public final class Filter implements AutoCloseable {
  /** A call that failed. The filter is as it was before the call, and has {@link #done} keys more. */
  public static final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The number of the status in besom_types.h, for example {@link #FULL}. */
    public final int status;

    /** How many keys {@link #addMany} has added: keys[done] is the one that failed. 0 for other calls. */
    public final int done;

    Failure(int status, String message, int done) {
      super(message);
      this.status = status;
      this.done = done;
    }
  }

  /** Statuses that a program may want to tell apart. */
  public static final int INVALID = 2, UNKNOWN_KIND = 3, BAD_OPTION = 4, UNSUPPORTED = 5, NO_MEMORY = 6,
      FULL = 7, NOT_FOUND = 8, INCOMPATIBLE = 9, CORRUPT = 10, NEWER_VERSION = 11, IO = 12, READ_ONLY = 13,
      AMBIGUOUS = 16, IS_MEMBER = 17, RESERVE_FULL = 20, DISK_FULL = 21, EVICTED = 22;

  /** What filter to make. A member that is not set has its default; besom_config in besom.h. */
  public static final class Config {
    private final String kind;
    private String options, hash;
    private byte[] seed;
    private long capacity;
    private double fpr;
    private int flags;

    private Config(String kind) {
      this.kind = kind;
    }

    /** Keys that the filter must hold. */
    public Config capacity(long keys) {
      capacity = keys;
      return this;
    }

    /** The target false-positive rate; 1/256 if it is not set. */
    public Config fpr(double rate) {
      fpr = rate;
      return this;
    }

    /** Options of the kind: "name=value,name=value". */
    public Config options(String list) {
      options = list;
      return this;
    }

    /** "xxh3" (the default) or "sip". */
    public Config hash(String name) {
      hash = name;
      return this;
    }

    /** 16 bytes that key the hash; random ones if they are not set. */
    public Config seed(byte[] bytes) {
      seed = bytes.clone();
      return this;
    }

    /** The filter keeps each key once, and has no remove: BESOM_SET. */
    public Config set() {
      flags |= 4;
      return this;
    }

    /** Makes an empty filter. */
    public Filter create() {
      return new Filter(Filter.create(kind, options, hash, seed, capacity, fpr, flags));
    }

    /** Makes a filter of all these keys. The keys are read up to three times. */
    public Filter build(Iterable<byte[]> yes) {
      return build(yes, null);
    }

    /** The same, exact on a second list, whose keys are answered no (kinds with a no list). */
    public Filter build(Iterable<byte[]> yes, Iterable<byte[]> no) {
      return new Filter(Filter.build(kind, options, hash, seed, capacity, fpr, flags | 2, new Keys(yes),
          no == null ? null : new Keys(no)));
    }
  }

  /** What C reads keys from. */
  private static final class Keys {
    private final Iterable<byte[]> all;
    private Iterator<byte[]> rest;

    Keys(Iterable<byte[]> all) {
      this.all = all;
      rewind();
    }

    void rewind() {
      rest = all.iterator();
    }

    byte[] next() {
      return rest.hasNext() ? rest.next() : null;
    }
  }

  /** The filter of C, freed once. The lock keeps it alive during a call. */
  private static final class Handle implements Runnable {
    private static final AtomicLong MADE = new AtomicLong();
    final long number = MADE.getAndIncrement(); // the order in which two of them are locked
    final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    long filter;

    @Override
    public void run() {
      lock.writeLock().lock();
      try {
        free(filter);
        filter = 0;
      } finally {
        lock.writeLock().unlock();
      }
    }

    private <T> T call(Lock held, LongFunction<T> with) {
      held.lock();
      try {
        if (filter == 0) throw new IllegalStateException("the filter is closed");
        return with.apply(filter);
      } finally {
        held.unlock();
      }
    }

    <T> T read(LongFunction<T> with) {
      return call(lock.readLock(), with);
    }

    void change(LongConsumer with) {
      call(lock.writeLock(), f -> {
        with.accept(f);
        return null;
      });
    }
  }

  private static final Cleaner CLEANER = Cleaner.create();

  static {
    loadLibrary();
  }

  private final Handle handle = new Handle();
  private final Cleaner.Cleanable cleanable;

  private Filter(long filter) {
    handle.filter = filter;
    cleanable = CLEANER.register(this, handle);
  }

  /** What filter to make: the name of a kind of docs/kinds.md. */
  public static Config of(String kind) {
    return new Config(kind);
  }

  /** Reads a saved filter, of any language. */
  public static Filter open(Path path) {
    return new Filter(open(path.toString(), false));
  }

  /**
   * Uses a saved filter in place; processes share its pages. Nobody may truncate the file meanwhile:
   * that ends the process. Reports stay in memory.
   */
  public static Filter openMapped(Path path) {
    return new Filter(open(path.toString(), true));
  }

  /** Reads a filter from the bytes of a file. */
  public static Filter load(byte[] bytes) {
    return new Filter(fromBytes(bytes));
  }

  /** False is certain; true may be a false positive. */
  public boolean contains(byte[] key) {
    return handle.read(f -> contains(f, key, key.length));
  }

  public boolean contains(String key) {
    return contains(bytes(key));
  }

  public boolean contains(long key) {
    return handle.read(f -> containsLong(f, key));
  }

  /** Bit i is the answer for keys[i]: two to three times as fast as single calls in large filters. */
  public BitSet containsMany(long[] keys) {
    long[] bitmap = handle.read(f -> containsLongs(f, keys));
    return BitSet.valueOf(bitmap);
  }

  /**
   * The same for byte strings one after the other in a direct buffer, from its start: ends[i] is
   * where key i ends.
   */
  public BitSet containsMany(ByteBuffer keys, int[] ends) {
    if (!keys.isDirect()) throw new IllegalArgumentException("the buffer is not direct");
    long[] bitmap = handle.read(f -> containsPacked(f, keys, ends));
    return BitSet.valueOf(bitmap);
  }

  /** Adds a key. A full filter throws {@link #FULL}. */
  public void add(byte[] key) {
    handle.change(f -> insert(f, key, key.length));
  }

  public void add(String key) {
    add(bytes(key));
  }

  public void add(long key) {
    handle.change(f -> insertLong(f, key));
  }

  /** Adds keys in order, up to the first failure: {@link Failure#done} tells how many. */
  public void addMany(long[] keys) {
    handle.change(f -> insertLongs(f, keys));
  }

  /** Removes one copy of a member. To remove a false positive would remove a member. */
  public void remove(byte[] key) {
    handle.change(f -> remove(f, key, key.length));
  }

  public void remove(String key) {
    remove(bytes(key));
  }

  public void remove(long key) {
    remove(bytes(key));
  }

  /** Copies of a key that were added and not removed, or more at the false-positive rate. */
  public long count(byte[] key) {
    return handle.read(f -> count(f, key, key.length));
  }

  public long count(String key) {
    return count(bytes(key));
  }

  public long count(long key) {
    return count(bytes(key));
  }

  /** Says that a key is absent although {@link #contains} said yes: it is answered no from now on. */
  public void report(byte[] key) {
    handle.change(f -> adapt(f, key, key.length));
  }

  public void report(String key) {
    report(bytes(key));
  }

  public void report(long key) {
    report(bytes(key));
  }

  /** A filter of the keys of both, which must have one kind, size and seed: {@link #empty}. */
  public Filter merge(Filter other) {
    boolean inOrder = handle.number <= other.handle.number;
    Handle first = inOrder ? handle : other.handle, second = inOrder ? other.handle : handle;
    return first.read(f -> second.read(g -> new Filter(inOrder ? merge(f, g) : merge(g, f))));
  }

  /** An empty filter that can be merged with this one. */
  public Filter empty() {
    return handle.read(f -> new Filter(createLike(f)));
  }

  /** Writes a file: it is the old one or the new one, whatever happens. */
  public void save(Path path) {
    handle.read(f -> {
      save(f, path.toString());
      return null;
    });
  }

  /** The bytes that {@link #save} writes. */
  public byte[] toBytes() {
    return handle.read(Filter::bytesOf);
  }

  /** The filter that a file of `besom diff` makes of this one. */
  public Filter patch(byte[] patch) {
    return handle.read(f -> new Filter(patch(f, patch)));
  }

  public String kind() {
    return handle.read(Filter::kindOf);
  }

  /** Keys that were added and not removed. */
  public long size() {
    return handle.read(f -> (long) statistic(f, 0));
  }

  /** All memory of the filter, in bytes. */
  public long bytes() {
    return handle.read(f -> (long) statistic(f, 1));
  }

  public double bitsPerKey() {
    return handle.read(f -> statistic(f, 2));
  }

  /** Frees the filter. Every other call throws IllegalStateException afterwards. */
  @Override
  public void close() {
    cleanable.clean();
  }

  private static byte[] bytes(String key) {
    return key.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] bytes(long key) {
    return ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(key).array();
  }

  /** The library is in the jar; a process has it in memory only. */
  private static void loadLibrary() {
    String given = System.getProperty("besom.library");
    if (given != null) {
      System.load(given);
      return;
    }
    try (InputStream packed = Filter.class.getResourceAsStream("libbesom_java.so")) {
      if (packed == null) throw new UnsatisfiedLinkError("libbesom_java.so is not in the jar: run make java");
      Path copy = Files.createTempFile("besom", ".so");
      try {
        Files.copy(packed, copy, StandardCopyOption.REPLACE_EXISTING);
        System.load(copy.toString());
      } finally {
        Files.delete(copy);
      }
    } catch (IOException error) {
      throw new UncheckedIOException("besom: the library cannot be unpacked (-Dbesom.library=FILE names it)", error);
    }
  }

  private static native long create(String kind, String options, String hash, byte[] seed, long capacity, double fpr, int flags);
  private static native long build(String kind, String options, String hash, byte[] seed, long capacity, double fpr, int flags,
      Keys yes, Keys no);
  private static native long open(String path, boolean mapped);
  private static native long fromBytes(byte[] bytes);
  private static native long createLike(long filter);
  private static native long merge(long filter, long other);
  private static native long patch(long filter, byte[] patch);
  private static native void free(long filter);
  private static native boolean contains(long filter, byte[] key, int length);
  private static native boolean containsLong(long filter, long key);
  private static native long[] containsLongs(long filter, long[] keys);
  private static native long[] containsPacked(long filter, ByteBuffer keys, int[] ends);
  private static native void insert(long filter, byte[] key, int length);
  private static native void insertLong(long filter, long key);
  private static native void insertLongs(long filter, long[] keys);
  private static native void remove(long filter, byte[] key, int length);
  private static native void adapt(long filter, byte[] key, int length);
  private static native long count(long filter, byte[] key, int length);
  private static native void save(long filter, String path);
  private static native byte[] bytesOf(long filter);
  private static native String kindOf(long filter);
  private static native double statistic(long filter, int which);
}
