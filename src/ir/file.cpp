#include "hocket/ir/file.h"

#include <libdeflate.h>

#include <memory>

#include "hocket/base/file.h"
#include "hocket/ir/json.h"
#include "hocket/ir/text.h"

namespace hocket {

namespace {

constexpr std::size_t max_gzip_growth = 1032;  // deflate can't do better than this

bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

std::string shown(const std::string& path) { return path == "-" ? "standard input" : path; }

bool starts_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

Result<std::string> gunzip(std::string_view compressed) {
  if (compressed.size() < 18) return fail(ErrorKind::input, "gzip data of {} bytes is cut off", compressed.size());
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!decompressor) return fail(ErrorKind::system, "no memory for decompression");
  // The last four bytes say the size of the content, modulo 2^32. They may lie: what deflate can't reach is refused before
  // memory is taken.
  std::uint32_t claimed = 0;
  for (std::size_t i = 0; i < 4; ++i)
    claimed |= static_cast<std::uint32_t>(static_cast<unsigned char>(compressed[compressed.size() - 4 + i])) << (8 * i);
  if (claimed > compressed.size() * max_gzip_growth) {
    return fail(ErrorKind::input, "gzip data is damaged or cut off: {} bytes can't hold the {} that they claim",
                compressed.size(), claimed);
  }
  std::string plain(claimed, '\0');
  std::size_t used = 0;
  std::size_t size = 0;
  const auto result = libdeflate_gzip_decompress_ex(decompressor.get(), compressed.data(), compressed.size(),
                                                    plain.data(), plain.size(), &used, &size);
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
    return fail(ErrorKind::input, "gzip data is damaged: it holds more than the {} bytes that it claims", claimed);
  if (result != LIBDEFLATE_SUCCESS) return fail(ErrorKind::input, "gzip data is damaged or cut off");
  if (used != compressed.size())
    return fail(ErrorKind::input, "gzip data is followed by {} other bytes", compressed.size() - used);
  plain.resize(size);
  return plain;
}

Result<std::string> gzip(std::string_view plain) {
  constexpr int level = 6;
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(level), &libdeflate_free_compressor);
  if (!compressor) return fail(ErrorKind::system, "no memory for compression");
  std::string compressed(libdeflate_gzip_compress_bound(compressor.get(), plain.size()), '\0');
  compressed.resize(
      libdeflate_gzip_compress(compressor.get(), plain.data(), plain.size(), compressed.data(), compressed.size()));
  if (compressed.empty()) return fail(ErrorKind::internal, "compression failed");
  return compressed;
}

Result<std::string> read_bytes(const std::string& path) {
  HOCKET_TRY(std::string content, read_file(path));
  if (!is_gzip(content)) return content;
  auto plain = gunzip(content);
  if (!plain) return fail(at(std::move(plain).error(), shown(path)));
  return plain;
}

Status write_bytes(const std::string& path, std::string_view content) {
  if (!path.ends_with(".gz")) return write_file(path, content);
  HOCKET_TRY(const std::string compressed, gzip(content));
  return write_file(path, compressed);
}

Result<GraphOrProgram> read_graph_or_program(const std::string& path, const OpTable& table) {
  HOCKET_TRY(const std::string content, read_bytes(path));
  const std::string name = shown(path);
  if (content.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail(Error{ErrorKind::input, "is empty; expected program text or JSON of schema commgraph/1", name});
  }
  if (!starts_like_json(content) && looks_like_program(content)) {
    HOCKET_TRY(Program program, parse_program(content, name, table));
    return program;
  }
  HOCKET_TRY(Graph graph,
             starts_like_json(content) ? read_graph_json(content, name, table) : parse_graph(content, name, table));
  return graph;
}

Result<Graph> read_graph(const std::string& path, const OpTable& table) {
  HOCKET_TRY(GraphOrProgram either, read_graph_or_program(path, table));
  if (std::holds_alternative<Program>(either)) {
    return fail(Error{ErrorKind::input, "holds a program of steps, expected a graph of values", shown(path)});
  }
  return std::get<Graph>(std::move(either));
}

FileFormat format_of_name(std::string_view path) {
  return path.ends_with(".json") || path.ends_with(".json.gz") ? FileFormat::json : FileFormat::text;
}

Status write_graph(const Graph& graph, const std::string& path) {
  return write_bytes(path, format_of_name(path) == FileFormat::json ? write_graph_json(graph) : print(graph));
}

}  // namespace hocket
