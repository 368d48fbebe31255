// Each rule against a text that breaks it and one that does not, so that the rules themselves can fail.
#include "tidy/rules.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace weir::tidy {
namespace {

struct Row {
  char const* name;
  Findings (*rule)(SourceFile const&);
  char const* path;
  std::string text;
  std::size_t line;  // of the one finding; -1: none
};
constexpr auto fine = static_cast<std::size_t>(-1);

std::ostream& operator<<(std::ostream& out, Row const& row) { return out << row.name; }

class Rules : public testing::TestWithParam<Row> {};

TEST_P(Rules, FindWhatTheySay) {
  Row const& row = GetParam();
  Findings const findings = row.rule(make_source(row.path, row.text));
  if (row.line == fine) {
    EXPECT_EQ(to_text(findings), "");
  } else {
    ASSERT_EQ(findings.size(), 1u) << to_text(findings);
    EXPECT_EQ(findings[0].line, row.line);
    EXPECT_EQ(findings[0].path, row.path);
    EXPECT_FALSE(findings[0].advice.empty());
  }
}

std::string lines(std::size_t count) { return std::string(count, '\n'); }

Row const rows[] = {
    {"detached", banned_words, "src/a/a.cpp", "\nco_spawn(x, y, asio::detached);", 2},
    {"detached_in_a_comment", banned_words, "src/a/a.cpp", "// detached is banned\n/* detached */", fine},
    {"detached_in_a_string", banned_words, "src/a/a.cpp", "auto s = \"a \\\" detached\"; auto r = R\"x(detached)\")x\";",
     fine},
    {"detached_behind_digits", banned_words, "src/a/a.cpp", "int n = 1'000; use(detached, 'x');", 1},
    {"longer_word", banned_words, "src/a/a.cpp", "bool undetached, detached_at;", fine},
    {"sleep_for", banned_words, "tests/a.cpp", "std::this_thread::sleep_for(1s);", 1},
    {"sleep_until", banned_words, "tests/a.cpp", "std::this_thread::sleep_until(t);", 1},
    {"usleep", banned_words, "tests/a.cpp", "usleep(1);", 1},
    {"nanosleep", banned_words, "tests/a.cpp", "nanosleep(&t, nullptr);", 1},
    {"sleep", banned_words, "tests/a.cpp", "::sleep(1);", 1},
    {"sleep_in_bench", banned_words, "bench/a.cpp", "::sleep(1);", fine},
    {"steady_clock", banned_words, "src/proxy/a.cpp", "auto t = std::chrono::steady_clock::now();", 1},
    {"system_clock", banned_words, "tests/a.cpp", "auto t = system_clock::now();", 1},
    {"high_resolution_clock", banned_words, "src/wire/a.cpp", "using C = std::chrono::high_resolution_clock;", 1},
    {"clock_gettime", banned_words, "src/wire/a.cpp", "clock_gettime(CLOCK_MONOTONIC, &t);", 1},
    {"gettimeofday", banned_words, "src/wire/a.cpp", "gettimeofday(&t, nullptr);", 1},
    {"time", banned_words, "src/wire/a.cpp", "std::time(nullptr);", 1},
    {"steady_clock_in_base", banned_words, "src/base/clock.cpp", "std::chrono::steady_clock::now();", fine},
    {"our_clock_in_cache", banned_words, "src/cache/a.cpp", "auto t = base::Clock::now();", 1},
    {"read_clock_in_a_header", banned_words, "include/weir/shield/a.hpp", "auto t = base::read_clock();", 1},
    {"our_clock_in_store", banned_words, "src/store/shard.cpp", "auto t = base::Clock::now();", 1},
    {"our_clock_in_a_link", banned_words, "src/store/valkey_link.cpp", "auto t = base::Clock::now();", fine},
    {"our_clock_in_proxy", banned_words, "src/proxy/a.cpp", "auto t = base::Clock::now(); auto n = base::read_clock();",
     fine},

    {"left_over", banned_text, "src/a/a.cpp",
     "// TO"
     "DO: more",
     1},
    {"to_fix", banned_text, "docker/a.txt",
     "\n# FIX"
     "ME",
     2},
    {"crossed", banned_text, "src/a/a.cpp",
     "// XX"
     "X: hm",
     1},
    {"machine_path", banned_text, "Makefile", "cd /wo" "rk/main", 1},
    {"home", banned_text, "Makefile", "cd /ro" "ot/x", 1},
    {"package_host", banned_text, "docker/Dockerfile", "RUN echo deb.deb" "ian.org", 1},
    {"another_package_host", banned_text, "tests/README.md", "see pypi.org", 1},
    {"plain_text", banned_text, "Makefile", "run: build\n\t./build/release/weir", fine},

    {"capture_by_reference", capturing_lambda_in_co_await, "src/a/a.cpp", "\nco_await run([&] { return 1; });", 2},
    {"capture_by_copy", capturing_lambda_in_co_await, "src/a/a.cpp",
     "co_await co_spawn(e,\n [x = 1]() -> T { co_return; }, t);", 2},
    {"capture_this", capturing_lambda_in_co_await, "src/a/a.cpp", "if (co_await run(a, [this] { return b[0]; })) return;",
     1},
    {"no_capture", capturing_lambda_in_co_await, "src/a/a.cpp", "co_await run([] { return a[i]; }, b[j]);", fine},
    {"named_before", capturing_lambda_in_co_await, "src/a/a.cpp", "auto f = [&] { return 1; };\nco_await run(f);", fine},
    {"after_the_expression", capturing_lambda_in_co_await, "src/a/a.cpp", "g(co_await run(f), [&] { return 1; });", fine},
    {"binding", capturing_lambda_in_co_await, "src/a/a.cpp", "auto [a, b] = co_await run(f);\nauto [c, d] = g();", fine},
    {"index", capturing_lambda_in_co_await, "src/a/a.cpp", "co_await run(v[i], w()[j]);", fine},

    {"empty_catch", silent_catch, "src/a/a.cpp", "try { f(); }\ncatch (...) {}", 2},
    {"catch_with_a_comment", silent_catch, "src/a/a.cpp", "try { f(); } catch (std::exception const& e) { /* never */ }", 1},
    {"catch_that_counts", silent_catch, "src/a/a.cpp", "try { f(); } catch (...) { ++lost; }", fine},

    {"long_file", too_long, "src/a/a.cpp", lines(501), 0},
    {"longest_file", too_long, "src/a/a.cpp", lines(500), fine},
    {"long_text", too_long, "tests/README.md", lines(501), fine},

    {"bare_header", header_without_comment, "include/weir/a/a.hpp", "#pragma once\n// late", 1},
    {"opened_header", header_without_comment, "include/weir/a/a.hpp", "// What it decides.\n#pragma once", fine},
    {"private_header", header_without_comment, "src/a/a.hpp", "#pragma once", fine},
};

INSTANTIATE_TEST_SUITE_P(Table, Rules, testing::ValuesIn(rows),
                         [](testing::TestParamInfo<Row> const& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace weir::tidy
