#include "pytorch_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "hocket/ir/file.h"

namespace hocket {

namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(trimmed(cell));
  return cells;
}

double number(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

// "0.1833 / 0.01656": ms and GiB; a dash where there is nothing.
struct Cell {
  double ms = 0;
  double gib = 0;
};
Cell cell_of(const std::string& text) {
  const auto slash = text.find(" / ");
  if (slash == std::string::npos) return {};
  return {number(text.substr(0, slash)), number(text.substr(slash + 3))};
}

// graph, nodes, collectives, lower bound, original, raise+sink, overlap, four variants with buckets, best, seconds
constexpr std::size_t columns = 13;
constexpr std::size_t original_column = 4;
constexpr std::size_t first_with_buckets = 7;
constexpr std::size_t best_column = 11;

PytorchResult row_of(const std::vector<std::string>& cells) {
  PytorchResult row;
  row.lower_bound = number(cells[3]);
  row.seconds = cells[best_column + 1];
  const std::string& best = cells[best_column];
  row.step_ms = number(best);
  const auto open = best.find('(');
  row.variant = open == std::string::npos ? std::string() : best.substr(open + 1, best.find(')') - open - 1);
  for (std::size_t c = original_column; c < best_column; ++c) {
    const Cell cell = cell_of(cells[c]);
    if (cell.ms == 0) continue;
    if (c < first_with_buckets) row.reorder_ms = row.reorder_ms == 0 ? cell.ms : std::min(row.reorder_ms, cell.ms);
    if (cell.ms == row.step_ms && (row.peak_gib == 0 || cell.gib < row.peak_gib)) row.peak_gib = cell.gib;
  }
  return row;
}

}  // namespace

Result<std::map<std::string, PytorchResult>> read_pytorch_results(const std::string& file) {
  HOCKET_TRY(const std::string text, read_bytes(file));
  std::map<std::string, PytorchResult> results;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] != '|') continue;
    const auto cells = cells_of(line);
    const bool is_row = cells.size() >= columns && !cells[1].empty() &&
                        std::all_of(cells[1].begin(), cells[1].end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_row) results.emplace(cells[0], row_of(cells));
  }
  if (results.empty())
    return fail(Error{ErrorKind::input, "no table of PyTorch's figures; expected rows like | graph | nodes | …", file});
  return results;
}

}  // namespace hocket
