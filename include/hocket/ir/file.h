// Graphs and programs in files: text, JSON, or JSON with gzip, told apart by their content.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"

namespace hocket {

enum class FileFormat : std::uint8_t { text, json };

// "-" reads standard input. Errors name the file.
Result<Graph> read_graph(const std::string& path, const OpTable& table = OpTable::builtin());

using GraphOrProgram = std::variant<Graph, Program>;
Result<GraphOrProgram> read_graph_or_program(const std::string& path, const OpTable& table = OpTable::builtin());

// By the name: .json and .json.gz are JSON, anything else is text; .gz is compressed. "-" is standard output.
Status write_graph(const Graph& graph, const std::string& path);
FileFormat format_of_name(std::string_view path);

// The bytes of a file, decompressed where they are gzip.
Result<std::string> read_bytes(const std::string& path);
// Writes all or nothing: into a new file beside it, then in its place. Compresses where the name ends in .gz.
Status write_bytes(const std::string& path, std::string_view content);

// gzip in memory. Decompression refuses data that claims to grow beyond what gzip can do or beyond 4 GiB.
Result<std::string> gunzip(std::string_view compressed);
Result<std::string> gzip(std::string_view plain);

}  // namespace hocket
