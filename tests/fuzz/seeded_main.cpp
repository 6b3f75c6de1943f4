// Runs a fuzz target without libFuzzer, on a fixed number of inputs that follow from a seed, so that every compiler can.
//
//   text_fuzz [-runs=N] [-seed=S] [-max_len=BYTES] [FILE or FOLDER …]
//
// Without runs, or with -runs=0, the given files are run as they are: that is how a failure is replayed.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "support/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using hocket::Random;

struct Options {
  std::uint64_t runs = 0;
  std::uint64_t seed = 1;
  std::size_t max_length = 1 << 14;
  std::vector<std::string> inputs;
};

// ---------------------------------------------------------------- a failure leaves its input

std::string current_input;
constexpr const char* input_file = "crash-input";

extern "C" void keep_input(int number) {
  // Only calls that are allowed in a signal handler, and nothing to be done where one fails.
  const int file = ::open(input_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  [[maybe_unused]] auto written = ::write(file, current_input.data(), current_input.size());
  ::close(file);
  constexpr std::string_view message =
      "the input is in the file crash-input of the working directory; give it to this program to replay\n";
  written = ::write(STDERR_FILENO, message.data(), message.size());
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(std::string input) {
  current_input = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current_input.data()), current_input.size());
}

// ---------------------------------------------------------------- mutations

// clang-format off
// Pieces of both languages, and the values at which programs go wrong.
const std::vector<std::string> tokens = {
    "graph", "program", "return", "group", "ranks", "world", "device", "meta", "buffer", "step", "input", "attribute", "symmetric", "arena",
    "aten.mm", "aten.view", "aten.permute", "aten.split.Tensor", "aten.copy_", "aten.expand", "aten.slice.Tensor", "getitem", "aten.full",
    "_c10d_functional.all_reduce", "_c10d_functional.wait_tensor", "_c10d_functional.all_gather_into_tensor", "aten.convolution.default",
    "_c10d_functional.reduce_scatter_tensor", "_c10d_functional.all_to_all_single", "view_of=", "wait_of=", "mutates=[", "coll=none", "int=5",
    "f32", "i64", "bool", "c128", "strides[", "offset ", "storage ", " of new", " of %x#1", " on \"cuda\"", "none", "sym(s0*2)", "json({})", "inf", "nan",
    "\"n\":", "\"args\":", "\"out\":", "\"shape\":", "\"storage\":", "\"view_of\":", "\"coll\":", "{\"n\":0}", "{\"sym\":\"s0 + 1\"}", "{\"float\":\"inf\"}",
    "{\"d\":{}}", "{\"dtype\":\"float32\"}", "null", "true", "[]", "{}", "()", "(,)", "\"\"", "\\u0000", "\\ud800", "%", "@", "%\"\"", "//", "\n",
    "0", "1", "-1", "2147483648", "4294967295", "4294967296", "1152921504606846976", "1152921504606846977", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "18446744073709551616", "1e308", "1e309", "1e-400", "0.1", "-0.0", "s0", "s0*s0*s1 + 3", "s0-8",
};
// clang-format on

using Corpus = std::vector<std::string>;

std::string mutate_once(std::string text, const Corpus& corpus, Random& random) {
  const auto place = [&] { return text.empty() ? 0 : random.index(text.size()); };
  const auto next_digit = [&](std::size_t from) {
    return std::min(text.find_first_of("0123456789", from), text.size());
  };
  switch (random.below(13)) {
    case 0:  // flip a bit
      if (!text.empty()) text[place()] = static_cast<char>(text[place()] ^ (1 << random.below(8)));
      return text;
    case 1:  // any byte
      if (!text.empty()) text[place()] = static_cast<char>(random.below(256));
      return text;
    case 2: return text.substr(0, place());
    case 3: return text.erase(place(), random.index(1 + std::min<std::size_t>(text.size(), 40)));
    case 4: return text.insert(place(), random.pick(tokens));
    case 5: {  // another word
      const std::size_t begin = std::min(text.find_first_of(" ,([{:=", place()), text.size());
      const std::size_t end = std::min(text.find_first_of(" ,)]}:=\n", std::min(begin + 1, text.size())), text.size());
      return begin < end ? text.replace(begin + 1, end - begin - 1, random.pick(tokens)) : text;
    }
    case 6: {  // another number
      const std::size_t begin = next_digit(place());
      const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
      return begin < end ? text.replace(begin, end - begin,
                                        random.chance(50) ? random.pick(tokens) : std::to_string(random.below(20)))
                         : text;
    }
    case 7: {  // more digits
      const std::size_t begin = next_digit(place());
      return text.insert(begin, std::string(random.index(40), static_cast<char>('0' + random.below(10))));
    }
    case 8: {  // deeper
      const std::size_t depth = random.chance(90) ? random.index(80) : random.index(3000);
      const auto [open, close] =
          random.pick({std::pair("[", ']'), std::pair("(", ')'), std::pair("{", '}'), std::pair("{\"a\":", '}')});
      std::string opening;
      for (std::size_t i = 0; i < depth; ++i) opening += open;
      const std::size_t at = place();
      return text.insert(at, opening + (random.chance(50) ? "1" : "") + std::string(depth, close));
    }
    case 9: {  // a part of another input
      const std::string& other = random.pick(corpus);
      const std::size_t begin = other.empty() ? 0 : random.index(other.size());
      return text.insert(place(), other.substr(begin, random.index(200)));
    }
    case 10: {  // the beginning of one and the end of another
      const std::string& other = random.pick(corpus);
      return text.substr(0, place()) + other.substr(other.empty() ? 0 : random.index(other.size()));
    }
    case 11: {  // a line again, somewhere else
      const std::size_t begin = std::min(text.find('\n', place()), text.size());
      const std::size_t end = std::min(text.find('\n', std::min(begin + 1, text.size())), text.size());
      const std::string line = text.substr(begin, end - begin);
      const std::size_t at = std::min(text.find('\n', place()), text.size());
      return text.insert(at, line);
    }
    default: {  // without a line
      const std::size_t begin = std::min(text.find('\n', place()), text.size());
      const std::size_t end = std::min(text.find('\n', std::min(begin + 1, text.size())), text.size());
      return text.erase(begin, end - begin);
    }
  }
}

std::string mutated(const Corpus& corpus, Random& random, std::size_t max_length) {
  std::string text = random.pick(corpus);
  for (std::int64_t left = random.between(1, 4); left > 0; --left) text = mutate_once(std::move(text), corpus, random);
  if (text.size() > max_length) text.resize(max_length);
  return text;
}

// ---------------------------------------------------------------- command line

bool number_option(std::string_view& argument, std::string_view name, std::vector<std::string_view>& rest,
                   std::uint64_t& value) {
  if (argument.starts_with("--")) argument.remove_prefix(1);
  if (!argument.starts_with(name)) return false;
  argument.remove_prefix(name.size());
  if (argument.starts_with("=")) {
    argument.remove_prefix(1);
  } else if (argument.empty() && !rest.empty()) {
    argument = rest.front();
    rest.erase(rest.begin());
  } else {
    return false;
  }
  const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), value);
  return error == std::errc() && end == argument.data() + argument.size();
}

bool parse(int argc, char** argv, Options& options) {
  std::vector<std::string_view> rest(argv + 1, argv + argc);
  while (!rest.empty()) {
    std::string_view argument = rest.front();
    rest.erase(rest.begin());
    if (!argument.starts_with("-")) {
      options.inputs.emplace_back(argument);
      continue;
    }
    std::uint64_t max_length = 0;
    if (number_option(argument, "-runs", rest, options.runs) || number_option(argument, "-seed", rest, options.seed))
      continue;
    if (!number_option(argument, "-max_len", rest, max_length)) return false;
    options.max_length = static_cast<std::size_t>(max_length);
  }
  return true;
}

Corpus read_corpus(const std::vector<std::string>& inputs) {
  std::vector<std::filesystem::path> files;
  for (const std::string& input : inputs) {
    if (!std::filesystem::is_directory(input)) {
      files.emplace_back(input);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(input)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());  // folders list their files in any order
  Corpus corpus;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) fmt::print(stderr, "{} can't be read\n", file.string());
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    fmt::print(stderr, "usage: {} [-runs=N] [-seed=S] [-max_len=BYTES] [FILE or FOLDER …]\n", argv[0]);
    return 2;
  }
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(number, keep_input);
  Corpus corpus = read_corpus(options.inputs);
  for (const std::string& input : corpus) run(input);
  if (corpus.empty()) corpus.emplace_back();
  Random random(options.seed);
  for (std::uint64_t i = 0; i < options.runs; ++i) run(mutated(corpus, random, options.max_length));
  fmt::print("{} inputs as they are, {} mutated with seed {}\n", options.inputs.empty() ? 0 : corpus.size(),
             options.runs, options.seed);
  return 0;
}
