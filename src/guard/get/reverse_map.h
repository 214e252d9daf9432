/* The reverse map, from fingerprints to stored keys. */
#ifndef BESOM_GUARD_REVERSE_MAP_H
#define BESOM_GUARD_REVERSE_MAP_H

#include "guard/guard.h"

/* Binds a filter to the guard's reverse map: the stored keys. */
besom_status besom__guard_bind(besom_guard *g, besom_filter *f);

#endif
