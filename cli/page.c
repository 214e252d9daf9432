#define _DEFAULT_SOURCE 1 /* open_memstream */

#include "page.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "files.h"
#include "number_text.h"

struct page {
  FILE *out;
  unsigned charts;
  char *text;
  size_t len;
};

static const char *const style =
    ":root{color-scheme:light dark;--text:#1d2226;--ground:#fff;--line:#8885;--panel:#edeff1;"
    "--lightness:40%}"
    "@media(prefers-color-scheme:dark){:root{--text:#dfe3e6;--ground:#15181b;--panel:#262b30;--"
    "lightness:66%}}"
    "body{font:16px/1.55 system-ui,sans-serif;max-width:54em;margin:2em auto;padding:0 1em;"
    "color:var(--text);background:var(--ground)}"
    "h1{font-size:1.6em;line-height:1.25}h2{font-size:1.2em;margin:2em 0 .4em}"
    "p{max-width:46em}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.7em "
    "1em;border-radius:6px;background:var(--panel)}"
    ".wide{overflow-x:auto;margin:1em 0}table{border-collapse:collapse;"
    "font-variant-numeric:tabular-nums;font-size:15px}"
    "th,td{padding:.3em .6em;text-align:right;border-bottom:1px solid var(--line)}"
    "th{vertical-align:bottom;line-height:1.25}td{white-space:nowrap}"
    ".text{text-align:left}th:first-child,td:first-child{position:sticky;left:0;padding-left:0;"
    "background:var(--ground)}"
    "figure{margin:1em 0;font-size:14px}.legend{display:flex;flex-wrap:wrap;gap:.1em 1.1em}"
    ".legend label{white-space:nowrap;cursor:pointer}.legend input{margin:0 .35em 0 0;"
    "vertical-align:-.1em}.legend i{display:inline-block;width:1.7em;margin:0 .4em 0 0;"
    "vertical-align:.25em}summary{cursor:pointer}figure p{margin:.6em 0 .2em}"
    ".plot{position:relative;height:clamp(220px,55vw,330px);margin:.7em 1.7em 1.7em "
    "var(--gutter);border:solid var(--text);border-width:0 0 1px 1px}"
    ".plot svg{position:absolute;width:100%;height:100%;overflow:visible}"
    ".plot path,.plot polyline{fill:none;vector-effect:non-scaling-stroke}"
    ".plot path{stroke:var(--line)}.plot polyline{stroke-width:2.5;stroke-linejoin:round}"
    ".plot span{position:absolute;white-space:nowrap;line-height:1}"
    ".plot .y{right:100%;margin:0 .5em .0em 0;transform:translateY(-50%)}"
    ".plot .x{top:100%;margin-top:.5em;transform:translateX(-50%)}"
    ".x-name{text-align:center;max-width:none}";

static void print_escaped(FILE *out, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '<':
      fputs("&lt;", out);
      break;
    case '>':
      fputs("&gt;", out);
      break;
    case '&':
      fputs("&amp;", out);
      break;
    case '"': /* for attribute values */
      fputs("&quot;", out);
      break;
    default:
      fputc(*text, out);
    }
  }
}

static void print_element(FILE *out, const char *tag, const char *text) {
  fprintf(out, "<%s>", tag);
  print_escaped(out, text);
  fprintf(out, "</%s>", tag);
}

page *page_create(const char *title) {
  page *p = allocate(1, sizeof *p);
  p->out = open_memstream(&p->text, &p->len);
  if (!p->out) fail("out of memory: the page");
  fprintf(p->out,
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
          "<meta name=\"color-scheme\" content=\"light dark\"><style>%s</style>",
          style);
  print_element(p->out, "title", title);
  fputs("</head><body>\n", p->out);
  print_element(p->out, "h1", title);
  fputc('\n', p->out);
  return p;
}

void page_heading(page *p, const char *text) {
  print_element(p->out, "h2", text);
  fputc('\n', p->out);
}

void page_text(page *p, const char *format, ...) {
  char text[2000];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  print_element(p->out, "p", text);
  fputc('\n', p->out);
}

void page_link(page *p, const char *path, const char *text) {
  fputs("<p><a href=\"", p->out);
  print_escaped(p->out, path);
  fputs("\">", p->out);
  print_escaped(p->out, text);
  fputs("</a></p>\n", p->out);
}

void page_code(page *p, const char *text) {
  fputs("<pre>", p->out);
  print_element(p->out, "code", text);
  fputs("</pre>\n", p->out);
}

static bool is_text_column(const report *table, size_t column) {
  for (size_t row = 1; row < report_rows(table); row++)
    if (isalpha((unsigned char)*report_text(table, row, column))) return true;
  return false;
}

static void print_cell(FILE *out, const char *tag, bool is_text, const char *text) {
  fprintf(out, "<%s%s>", tag, is_text ? " class=\"text\"" : "");
  print_escaped(out, text);
  fprintf(out, "</%s>", tag);
}

void page_table(page *p, const report *table) {
  fputs("<div class=\"wide\"><table>\n", p->out);
  for (size_t row = 0; row < report_rows(table); row++) {
    fputs("<tr>", p->out);
    for (size_t i = 0; i < report_columns(table); i++)
      print_cell(p->out, row ? "td" : "th", is_text_column(table, i), report_text(table, row, i));
    fputs("</tr>\n", p->out);
  }
  fputs("</table></div>\n", p->out);
}

/* ------------------------------------------------------------------ charts */

/* Labels are text of the page, so that they have one size on all screens. Only curves are SVG, in
 * a square of this size that is stretched. */
enum { SIDE = 1000, MARKS = 5 };

/* A round distance between marks: 1, 2 or 5 times a power of ten, about four marks up to `most`. */
static double round_step(double most) {
  double rough = most / (MARKS - 1), unit = pow(10, floor(log10(rough)));
  double digit = rough / unit;
  return unit * (digit > 5 ? 10 : digit > 2 ? 5 : digit > 1 ? 2 : 1);
}

static double most_of(const chart *c) {
  uint64_t most = 1;
  for (size_t i = 0; i < c->curve_count; i++)
    for (size_t k = 0; k < c->points; k++)
      if (c->curves[i].points[k] > most) most = c->curves[i].points[k];
  return (double)most;
}

/* The place of a value on the axis, from 0 to 1: logarithmic, but 0 is its lower end. */
static double height_of(double value, double most) {
  return log1p(value) / log1p(most);
}

enum { MAX_Y_MARKS = 32 };

/* 0 and decades; if these are few, also twice and five times as much. Returns their number. */
static size_t y_marks(double most, double marks[MAX_Y_MARKS]) {
  size_t n = 0;
  marks[n++] = 0;
  for (double decade = 1; decade <= most; decade *= most < 1e7 ? 10 : 100)
    for (double factor = 1; factor <= (most < 100 ? 5 : 1); factor = factor == 2 ? 5 : 2 * factor)
      if (factor * decade <= most) marks[n++] = factor * decade;
  return n;
}

static void print_labels(FILE *out, const chart *c, double most) {
  double marks[MAX_Y_MARKS];
  size_t n = y_marks(most, marks);
  for (size_t i = 0; i < n; i++)
    fprintf(out, "<span class=\"y\" style=\"top:%.2f%%\">%s</span>\n",
            100 - 100 * height_of(marks[i], most), grouped((uint64_t)marks[i]).text);
  double step = round_step(c->x_most);
  for (double x = 0; x <= c->x_most; x += step < 1 ? 1 : step)
    fprintf(out, "<span class=\"x\" style=\"left:%.2f%%\">%s</span>\n", 100 * x / c->x_most,
            grouped((uint64_t)x).text);
}

static void draw_grid(FILE *out, double most) {
  double marks[MAX_Y_MARKS];
  size_t n = y_marks(most, marks);
  fputs("<path d=\"", out);
  for (size_t i = 1; i < n; i++)
    fprintf(out, "M0 %.1fH%d", SIDE * (1 - height_of(marks[i], most)), SIDE);
  fputs("\"/>\n", out);
}

/* Neighbours in the list get distant hues and different dashes. */
static unsigned hue_of(size_t i) {
  static const unsigned first[] = {212, 22, 145, 290, 48, 180, 330, 90};
  return i < sizeof first / sizeof *first ? first[i] : (unsigned)(i * 137 % 360);
}

static const char *const dashes[] = {"none", "9 4", "2 3", "9 3 2 3"};
static const char *const borders[] = {"solid", "dashed", "dotted", "dashed"};

static void draw_curve(FILE *out, const chart *c, size_t i, double most) {
  fprintf(out, "<g class=\"k%zu\"><title>", i);
  print_escaped(out, c->curves[i].name);
  fprintf(out,
          "</title><polyline style=\"stroke:hsl(%u 75%% var(--lightness))\" "
          "stroke-dasharray=\"%s\" points=\"",
          hue_of(i), dashes[i % 4]);
  for (size_t k = 0; k < c->points; k++)
    fprintf(out, "%.1f,%.1f ", SIDE * (double)k / (double)(c->points - 1),
            SIDE * (1 - height_of((double)c->curves[i].points[k], most)));
  fputs("\"/></g>\n", out);
}

static void print_legend_entry(FILE *out, const chart *c, size_t i, unsigned id) {
  fprintf(out, "<label><input type=\"checkbox\" id=\"c%uk%zu\"%s>", id, i,
          c->curves[i].shown ? " checked" : "");
  fprintf(out, "<i style=\"border-top:3px %s hsl(%u 75%% var(--lightness))\"></i>", borders[i % 4],
          hue_of(i));
  print_escaped(out, c->curves[i].name);
  fprintf(out, " %s</label>\n", grouped(c->curves[i].points[c->points - 1]).text);
}

/* A browser that does not know :has shows the first choice. */
static void print_visibility(FILE *out, const chart *c, unsigned id) {
  fputs("<style>", out);
  for (size_t i = 0; i < c->curve_count; i++)
    fprintf(out,
            c->curves[i].shown ? "#c%u:has(#c%uk%zu:not(:checked)) .k%zu{display:none}"
                               : "#c%u:not(:has(#c%uk%zu:checked)) .k%zu{display:none}",
            id, id, i, i);
  fputs("</style>\n", out);
}

static void print_legend(FILE *out, const chart *c, unsigned id) {
  size_t hidden = 0;
  fputs("<div class=\"legend\">\n", out);
  for (size_t i = 0; i < c->curve_count; i++) {
    hidden += !c->curves[i].shown;
    if (c->curves[i].shown) print_legend_entry(out, c, i, id);
  }
  fputs("</div>\n", out);
  if (!hidden) return;
  fprintf(out, "<details><summary>%zu others</summary><div class=\"legend\">\n", hidden);
  for (size_t i = 0; i < c->curve_count; i++)
    if (!c->curves[i].shown) print_legend_entry(out, c, i, id);
  fputs("</div></details>\n", out);
}

void page_chart(page *p, const chart *c) {
  FILE *out = p->out;
  double most = most_of(c);
  unsigned id = ++p->charts;
  print_visibility(out, c, id);
  fprintf(out, "<figure id=\"c%u\">\n", id);
  print_legend(out, c, id);
  print_element(out, "p", c->y_name);
  fprintf(out, "<div class=\"plot\" style=\"--gutter:%zuch\">\n",
          strlen(grouped((uint64_t)most).text) + 1);
  print_labels(out, c, most);
  fprintf(out,
          "<svg role=\"img\" preserveAspectRatio=\"none\" viewBox=\"0 0 %d %d\" "
          "aria-label=\"",
          SIDE, SIDE);
  print_escaped(out, c->y_name);
  fputs(" by ", out);
  print_escaped(out, c->x_name);
  fputs("\">\n", out);
  draw_grid(out, most);
  for (size_t i = 0; i < c->curve_count; i++) draw_curve(out, c, i, most);
  fputs("</svg></div>\n<p class=\"x-name\">", out);
  print_escaped(out, c->x_name);
  fputs("</p></figure>\n", out);
}

void page_finish(page *p, const char *path) {
  fputs("</body></html>\n", p->out);
  if (fclose(p->out) != 0) fail("out of memory: the page");
  file_bytes bytes = {(uint8_t *)p->text, p->len};
  file_write(path, &bytes);
  free(p->text);
  free(p);
}
