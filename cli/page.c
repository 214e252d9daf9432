#define _DEFAULT_SOURCE 1 /* open_memstream */

#include "page.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "files.h"

struct page {
  FILE *out;
  char *text;
  size_t len;
};

static const char *const style =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 "
    "1em;color:#222;background:#fff}"
    "table{border-collapse:collapse}th,td{padding:.2em .8em;text-align:right;border-bottom:1px "
    "solid #8884}"
    "td{white-space:nowrap}th:first-child,td:first-child{text-align:left}.wide{overflow-x:auto}"
    "svg{display:block;width:100%;max-width:46em;height:auto}svg "
    "text{font-size:13px;fill:currentColor}"
    ".legend{display:flex;flex-wrap:wrap;gap:.2em 1.2em;padding:0;max-width:46em}.legend "
    "li{list-style:none}"
    ".legend i{display:inline-block;width:1.8em;margin-right:.4em;vertical-align:middle}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}";

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
          "<meta name=\"viewport\" content=\"width=device-width\"><style>%s</style>",
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

void page_table(page *p, const report *table) {
  fputs("<div class=\"wide\"><table>\n", p->out);
  for (size_t row = 0; row < report_rows(table); row++) {
    fputs("<tr>", p->out);
    for (size_t i = 0; i < report_columns(table); i++)
      print_element(p->out, row ? "td" : "th", report_text(table, row, i));
    fputs("</tr>\n", p->out);
  }
  fputs("</table></div>\n", p->out);
}

/* ------------------------------------------------------------------ charts */

enum { LEFT = 72, TOP = 12, WIDTH = 430, HEIGHT = 280, RIGHT = 24, BOTTOM = 50, MARKS = 5 };

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

static void draw_axes(FILE *out, const chart *c, double most) {
  fprintf(out, "<path d=\"M%d %dv%dh%d\" fill=\"none\" stroke=\"currentColor\"/>\n", LEFT, TOP,
          HEIGHT, WIDTH);
  double step = round_step(most);
  for (double y = step; y <= most; y += step) {
    double at = TOP + HEIGHT * (1 - y / most);
    fprintf(out,
            "<path d=\"M%d %.1fh%d\" stroke=\"#8884\"/><text x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%.6g</text>\n",
            LEFT, at, WIDTH, LEFT - 6, at + 4, y);
  }
  step = round_step(c->x_most);
  for (double x = step; x <= c->x_most; x += step)
    fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.7g</text>\n",
            LEFT + WIDTH * x / c->x_most, TOP + HEIGHT + 18, x);
  fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", LEFT + WIDTH / 2,
          TOP + HEIGHT + 38);
  print_escaped(out, c->x_name);
  fprintf(out, "</text><text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">",
          TOP + HEIGHT / 2);
  print_escaped(out, c->y_name);
  fputs("</text>\n", out);
}

/* Neighbours in the list get distant hues, and every second curve is dashed. */
static unsigned hue_of(size_t i) {
  return (unsigned)(i * 137 % 360);
}

static bool is_dashed(size_t i) {
  return i % 2;
}

static void draw_curve(FILE *out, const chart *c, size_t i, double most) {
  fprintf(out, "<g fill=\"none\" stroke=\"hsl(%u 70%% 45%%)\" stroke-width=\"2\"%s>", hue_of(i),
          is_dashed(i) ? " stroke-dasharray=\"7 3\"" : "");
  print_element(out, "title", c->curves[i].name);
  fputs("<polyline points=\"", out);
  for (size_t k = 0; k < c->points; k++)
    fprintf(out, "%.1f,%.1f ", LEFT + WIDTH * (double)k / (double)(c->points - 1),
            TOP + HEIGHT * (1 - (double)c->curves[i].points[k] / most));
  fputs("\"/></g>\n", out);
}

/* The legend is text below the chart, so that it wraps on a narrow screen. */
static void print_legend(FILE *out, const chart *c) {
  fputs("<ul class=\"legend\">\n", out);
  for (size_t i = 0; i < c->curve_count; i++) {
    fprintf(out, "<li><i style=\"border-top:3px %s hsl(%u 70%% 45%%)\"></i>",
            is_dashed(i) ? "dashed" : "solid", hue_of(i));
    print_escaped(out, c->curves[i].name);
    fputs("</li>\n", out);
  }
  fputs("</ul>\n", out);
}

void page_chart(page *p, const chart *c) {
  fprintf(p->out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", LEFT + WIDTH + RIGHT,
          TOP + HEIGHT + BOTTOM);
  print_escaped(p->out, c->y_name);
  fputs(" by ", p->out);
  print_escaped(p->out, c->x_name);
  fputs("\">\n", p->out);
  double most = most_of(c);
  draw_axes(p->out, c, most);
  for (size_t i = 0; i < c->curve_count; i++) draw_curve(p->out, c, i, most);
  fputs("</svg>\n", p->out);
  print_legend(p->out, c);
}

void page_finish(page *p, const char *path) {
  fputs("</body></html>\n", p->out);
  if (fclose(p->out) != 0) fail("out of memory: the page");
  file_bytes bytes = {(uint8_t *)p->text, p->len};
  file_write(path, &bytes);
  free(p->text);
  free(p);
}
