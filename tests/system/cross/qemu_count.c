/*
 * qemu_count.c - a plugin of qemu-user that prints how many instructions a program executed. Debian
 * does not package qemu-plugin.h, so the part of its interface (version 1) that is used is declared
 * here.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb; /* a block of translated instructions */
enum { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

typedef void (*translated_callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*exit_callback)(qemu_plugin_id_t id, void *ctx);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_callback callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_callback callback, void *ctx);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation,
                                              void *counter, uint64_t addend);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

static uint64_t executed;

static void count_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &executed,
                                           qemu_plugin_tb_n_insns(block));
}

static void print_count(qemu_plugin_id_t id, void *ctx) {
  (void)id, (void)ctx;
  fprintf(stderr, "%" PRIu64 "\n", executed);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
  qemu_plugin_register_atexit_cb(id, print_count, NULL);
  return 0;
}
