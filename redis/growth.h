/*
 * growth.h - filters grow while the server goes on answering.
 *
 * A small filter grows within the command that finds no room. A large one grows in steps of a millisecond, between
 * which the server does whatever else there is to do; questions to the filter are answered meanwhile, and clients that
 * want to change it wait. Where nobody can wait (MULTI, scripts) it grows at once.
 *
 * Only who decides grows: what comes from a master or from a file says itself when to (AF.GROW), so that all copies
 * have the same bytes.
 */
#ifndef BESOM_REDIS_GROWTH_H
#define BESOM_REDIS_GROWTH_H

#include "value.h"

/* Does this command come from a client, and not from a master or a file? */
bool decides(RedisModuleCtx *ctx);

/*
 * To be called before a filter is changed, with the number of items that may come in. false: the client waits, and
 * `again` is called with its command when it is time; there is nothing to do or to reply now.
 */
bool growth_make_room(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af, uint64_t items,
                      RedisModuleCmdFunc again);

/* Is this a command that has waited? The key may have gone elsewhere meanwhile. */
bool growth_has_waited(void);

/* AF.GROW key [slots] */
int growth_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
