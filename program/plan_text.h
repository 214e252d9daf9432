/* The plan of a stacked filter (besom_plan) as text. */
#ifndef PROGRAM_PLAN_TEXT_H
#define PROGRAM_PLAN_TEXT_H

#include <stdio.h>

#include "besom_plan.h"

/* Prints the layers of the plan, its size and its expected rates: one line per layer and figure. */
void plan_text_print(FILE *out, const besom_stack_plan *plan);

#endif
