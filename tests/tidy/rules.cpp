#include "tidy/rules.hpp"

#include <algorithm>
#include <array>

namespace weir::tidy {

namespace {

bool anywhere(SourceFile const&) { return true; }
bool in_tests(SourceFile const& file) { return file.in("tests/"); }
bool outside_base(SourceFile const& file) {
  return !file.in("src/base/") && !file.in("include/weir/base/") && !file.in("bench/") &&
         file.path != "tests/support/deadline.cpp";
}
// Rooms that decide take the time as a value; the store's connections to a server wait, and do not decide.
bool in_a_deciding_room(SourceFile const& file) {
  if (file.in("src/store/valkey_")) return false;
  constexpr std::array<std::string_view, 5> rooms = {"http/", "cache/", "shield/", "store/", "config/"};
  return std::any_of(rooms.begin(), rooms.end(), [&](std::string_view room) {
    return file.in("src/" + std::string(room)) || file.in("include/weir/" + std::string(room));
  });
}

struct BannedWord {
  std::string_view word;
  bool (*where)(SourceFile const&);
  std::string_view advice;
};

constexpr std::string_view no_sleep =
    "a test does not sleep: wait for what shall happen (Gate, eventually) or turn the clock";
constexpr std::string_view no_clock = "read time through base::read_clock() or base::Clock, so that tests can turn it";
constexpr std::string_view take_now = "this room takes the time as a value: base::Now";

constexpr BannedWord words[] = {
    {"detached", anywhere, "a detached coroutine loses its exception: use a completion handler that logs and counts"},
    {"sleep_for", in_tests, no_sleep},
    {"sleep_until", in_tests, no_sleep},
    {"usleep", in_tests, no_sleep},
    {"nanosleep", in_tests, no_sleep},
    {"sleep(", in_tests, no_sleep},
    {"steady_clock::now", outside_base, no_clock},
    {"system_clock::now", outside_base, no_clock},
    {"high_resolution_clock", outside_base, no_clock},
    {"clock_gettime", outside_base, no_clock},
    {"gettimeofday", outside_base, no_clock},
    {"time(nullptr", outside_base, no_clock},
    {"Clock::now", in_a_deciding_room, take_now},
    {"read_clock", in_a_deciding_room, take_now},
};

struct BannedText {
  std::string_view text;
  std::string_view advice;
};

constexpr std::string_view finish_it = "finish it, or write down in README.md what is not built";
constexpr std::string_view no_machine = "a place on one machine: name it relative to the tree, or by an option";
constexpr std::string_view no_host = "packages come from wherever the machine gets them: name no host";

constexpr BannedText texts[] = {
    {"TODO", finish_it},         {"FIXME", finish_it},        {"XXX:", finish_it},           {"/wo" "rk/", no_machine},
    {"/ro" "ot/", no_machine},      {"deb.deb" "ian.org", no_host}, {"snapshot.debian", no_host},  {"pypi.org", no_host},
    {"registry.n" "pmjs", no_host}, {"crates.io", no_host},      {"proxy.golang.org", no_host}, {"pkg.dev", no_host},
    {"packages.cloud", no_host},
};

char char_before(std::string_view code, std::size_t at) {
  while (at > 0 && std::string_view(" \t\n").find(code[at - 1]) != std::string_view::npos) --at;
  return at > 0 ? code[at - 1] : ';';
}

std::string_view word_before(std::string_view code, std::size_t at) {
  while (at > 0 && std::string_view(" \t\n").find(code[at - 1]) != std::string_view::npos) --at;
  std::size_t begin = at;
  while (begin > 0 && is_word_char(code[begin - 1])) --begin;
  return code.substr(begin, at - begin);
}

// Whether the `[` at `at` begins a lambda that captures: after an operand it is an index, `[[` is an attribute.
bool captures(std::string_view code, std::size_t at) {
  char const before = char_before(code, at);
  bool const is_index = (is_word_char(before) && word_before(code, at) != "return") || before == ')' || before == ']';
  if (is_index || before == '[' || code.substr(at).starts_with("[[")) return false;
  std::size_t const inside = code.find_first_not_of(" \t\n", at + 1);
  return inside != std::string_view::npos && code[inside] != ']';
}

// The end of the expression that begins at `at`: a `;` or `,` of its own, or the bracket that closes around it.
std::size_t end_of_expression(std::string_view code, std::size_t at) {
  int depth = 0;
  for (; at < code.size(); ++at) {
    char const c = code[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth < 0 || (depth == 0 && (c == ';' || c == ','))) return at;
  }
  return at;
}

}  // namespace

Findings banned_words(SourceFile const& file) {
  Findings findings;
  for (BannedWord const& banned : words) {
    if (!banned.where(file)) continue;
    for (std::size_t at = find_word(file.code, banned.word); at != std::string::npos;
         at = find_word(file.code, banned.word, at + 1))
      findings.push_back({file.path, line_of(file.code, at), std::string(banned.word) + ": " + std::string(banned.advice)});
  }
  return findings;
}

Findings banned_text(SourceFile const& file) {
  if (file.in("tests/tidy/")) return {};  // names them
  Findings findings;
  for (BannedText const& banned : texts)
    for (std::size_t at = file.text.find(banned.text); at != std::string::npos; at = file.text.find(banned.text, at + 1))
      findings.push_back({file.path, line_of(file.text, at), std::string(banned.text) + ": " + std::string(banned.advice)});
  return findings;
}

Findings capturing_lambda_in_co_await(SourceFile const& file) {
  Findings findings;
  for (std::size_t at = find_word(file.code, "co_await"); at != std::string::npos;
       at = find_word(file.code, "co_await", at + 1)) {
    std::size_t const begin = at + std::string_view("co_await").size();
    std::size_t const end = end_of_expression(file.code, begin);
    std::string_view const expression = std::string_view(file.code).substr(0, end);
    for (std::size_t open = expression.find('[', begin); open != std::string_view::npos;
         open = expression.find('[', open + 1)) {
      if (!captures(expression, open)) continue;
      findings.push_back({file.path, line_of(file.code, open), "a capturing lambda inside co_await: give it a name before"});
      break;
    }
  }
  return findings;
}

Findings silent_catch(SourceFile const& file) {
  Findings findings;
  for (std::size_t at = find_word(file.code, "catch"); at != std::string::npos; at = find_word(file.code, "catch", at + 1)) {
    std::size_t const open = file.code.find('{', at);
    std::size_t const inside = open == std::string::npos ? open : file.code.find_first_not_of(" \t\n", open + 1);
    if (inside == std::string::npos || file.code[inside] == '}')
      findings.push_back({file.path, line_of(file.code, at), "an empty catch: handle the error, count it or log it"});
  }
  return findings;
}

Findings too_long(SourceFile const& file) {
  auto const lines = static_cast<std::size_t>(std::count(file.text.begin(), file.text.end(), '\n'));
  if (!file.is_cpp() || lines <= longest_file) return {};
  return {{file.path, 0, std::to_string(lines) + " lines: more than one subject; split it by what it decides"}};
}

Findings header_without_comment(SourceFile const& file) {
  if (!file.in("include/") || !file.is_header() || file.text.starts_with("// ")) return {};
  return {{file.path, 1, "open the header with what it decides, its thread rule and who owns what"}};
}

}  // namespace weir::tidy
