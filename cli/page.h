/* A self-contained HTML page: text, tables and SVG charts. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"

typedef struct page page;

page *page_create(const char *title);
void page_heading(page *p, const char *text);
void page_text(page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_link(page *p, const char *path, const char *text);
void page_code(page *p, const char *text); /* a command line */
void page_table(page *p, const report *table);

/* The points are evenly spaced from the left end of the chart to the right. A reader of the page
 * can show and hide every curve; shown: it is shown at first. */
typedef struct curve {
  const char *name;
  const uint64_t *points;
  bool shown;
} curve;

typedef struct chart {
  const char *x_name, *y_name;
  double x_most; /* x runs from 0 to this */
  size_t points; /* number of points of every curve, at least 2 */
  const curve *curves;
  size_t curve_count;
} chart;

/* Draws the curves over a logarithmic axis that begins with 0. The legend has the last point of
 * every curve. */
void page_chart(page *p, const chart *c);

/* Writes the page to a file, which is replaced atomically, and frees the page. */
void page_finish(page *p, const char *path);

#endif
