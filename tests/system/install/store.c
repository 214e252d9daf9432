/* The smallest program that uses an installed store over a database. */
#include <besom_store.h>
#include <stdio.h>

int main(int argc, char **argv) {
  besom_store *store;
  const char *reason = NULL;
  besom_status status = besom_store_lmdb(argc > 1 ? argv[1] : "database", NULL, &reason, &store);
  if (status != BESOM_OK) {
    fprintf(stderr, "%s: %s\n", besom_strerror(status), reason);
    return 1;
  }
  besom_record record = {{"key", 3}, {"value", 5}};
  status = store->ops->table_put(store, BESOM_TABLE_KEYS, &record);
  besom_store_close(store);
  printf("besom %s: %s\n", besom_version(), besom_strerror(status));
  return status == BESOM_OK ? 0 : 1;
}
