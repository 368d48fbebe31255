#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "reading.hpp"
#include "request_rows.hpp"
#include "second_parser.hpp"

namespace weir::wire {
namespace {

// REQ-1, and the first table of the traps in Beast's parser
TEST(RequestHead, RefusesEachRow) {
  for (auto const& row : refused_rows()) {
    SCOPED_TRACE(row.name);
    RequestReader reader;
    auto const head = reader.read(row.bytes);
    EXPECT_EQ(step_name(head.step), "refused");
    EXPECT_EQ(label(head.refusal), label(row.refusal));
    EXPECT_EQ(reader.scanned(), 0u);
  }
}

// REQ-1, REQ-2: what real sites send passes byte for byte
TEST(RequestHead, AcceptsEachRow) {
  for (auto const& row : accepted_rows()) {
    SCOPED_TRACE(row.name);
    RequestReader reader;
    auto const head = reader.read(row.bytes);
    ASSERT_EQ(step_name(head.step), "ready") << label(head.refusal);
    auto const& request = head.request;
    if (!row.method.empty()) { EXPECT_EQ(request.method, row.method); }
    EXPECT_EQ(request.method_id, http::method_of(request.method));
    EXPECT_EQ(request.authority, row.authority);
    EXPECT_EQ(request.path, row.path);
    EXPECT_EQ(framing_text(request.framing), row.framing);
    EXPECT_EQ(request.keep_alive, row.keep_alive);
    EXPECT_EQ(reader.scanned(), 0u);
  }
}

TEST(RequestHead, TablesNameEachRowOnceAndEachRefusal) {
  std::set<std::string> names;
  std::set<Refusal> refusals;
  for (auto const& row : refused_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    refusals.insert(row.refusal);
  }
  for (auto const& row : accepted_rows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_GE(names.size(), 120u);
  EXPECT_EQ(refusals.size(), refusal_count);
}

// A prefix says need_more or already the same refusal; the whole says the same however it was cut.
void expect_same_when_cut(std::string const& bytes) {
  RequestReader whole_reader;
  auto const whole = whole_reader.read(bytes);
  auto const expected = text_of(whole);
  std::size_t const end = whole.step == HeadStep::ready ? whole.size : bytes.size();
  RequestReader by_byte;
  bool ended = false;
  std::size_t const step =
      std::max<std::size_t>(1, bytes.size() / 2000);  // long heads differ in nothing between their bytes
  for (std::size_t cut = 0; cut < end; cut += (cut < 200 || end - cut < 200) ? 1 : step) {
    RequestReader reader;
    auto const first = reader.read(std::string_view(bytes).substr(0, cut));
    if (first.step == HeadStep::need_more) {
      ASSERT_EQ(text_of(reader.read(bytes)), expected) << "cut at " << cut;
    } else {
      ASSERT_EQ(text_of(first), expected) << "cut at " << cut;
    }
    if (ended) continue;
    auto const next = by_byte.read(std::string_view(bytes).substr(0, cut));
    ended = next.step != HeadStep::need_more;
    if (ended) { ASSERT_EQ(text_of(next), expected) << "byte by byte at " << cut; }
  }
  if (!ended) { ASSERT_EQ(text_of(by_byte.read(bytes)), expected); }
}

// REQ-1: the verdict does not depend on how the bytes arrive
TEST(RequestHead, SaysTheSameForEveryCut) {
  for (auto const& row : refused_rows()) {
    SCOPED_TRACE(row.name);
    expect_same_when_cut(row.bytes);
  }
  for (auto const& row : accepted_rows()) {
    SCOPED_TRACE(row.name);
    expect_same_when_cut(row.bytes);
  }
}

TEST(RequestHead, WaitsForTheBlankLine) {
  std::string const bytes = with("X: y");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    RequestReader reader;
    EXPECT_EQ(step_name(reader.read(bytes.substr(0, size)).step), "need_more") << size;
  }
}

// REQ-1: a bad first line is not waited out
TEST(RequestHead, RefusesAnIncompleteHeadByItsFirstLine) {
  EXPECT_EQ(label(RequestReader().read("GET / HTTP/2.0\r\n").refusal), "version");
  EXPECT_EQ(label(RequestReader().read("GET /#\x20HTTP/1.1\r\n").refusal), "target");
  EXPECT_EQ(label(RequestReader().read("G(").refusal), "method");
  EXPECT_EQ(label(RequestReader().read("GET / HTTP/1.1\r\nHost: a\n").refusal), "bare_cr_lf");
  EXPECT_EQ(label(RequestReader().read("GET / HTTP/1.1\r\nHost: a\r\n ").refusal), "obs_fold");
}

// PITFALLS: the body of one request is never part of its head, nor the next head of its body
TEST(RequestHead, EndsAtTheBlankLine) {
  std::string const first = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
  RequestReader reader;
  std::string const bytes = first + "abc" + get("/next");
  EXPECT_EQ(reader.read(bytes).size, first.size());
  auto const next = reader.read(std::string_view(bytes).substr(first.size() + 3));
  ASSERT_EQ(step_name(next.step), "ready");
  EXPECT_EQ(next.request.path, "/next");
}

// PITFALLS: every line is kept, in order, and none is folded into another
TEST(RequestHead, KeepsEveryLine) {
  std::string const bytes = with("Cache-Control: max-age=60\r\nX-Odd: 1\r\ncache-control: private");
  RequestReader reader;
  auto const fields = reader.read(bytes).request.fields;
  EXPECT_EQ(fields_text(fields), "Host=a\nCache-Control=max-age=60\nX-Odd=1\ncache-control=private\n");
  EXPECT_EQ(fields.count(http::FieldId::cache_control), 2u);
  EXPECT_EQ((fields.begin() + 2)->id, http::FieldId::other);
}

// REQ-2
TEST(RequestHead, SplitsTheTarget) {
  std::string const bytes = get("HTTPS://b:81/x?y=1");
  RequestReader reader;
  auto const request = reader.read(bytes).request;
  EXPECT_EQ(request.target, "HTTPS://b:81/x?y=1");
  EXPECT_EQ(request.scheme, "http");  // nobody saw TLS
  EXPECT_EQ(request.authority, "b:81");
  EXPECT_TRUE(request.has_query);
  EXPECT_EQ(request.query, "y=1");
}

TEST(RequestHead, TakesTheSchemeOfTheListener) {
  std::string const bytes = get("/p");
  RequestReader tls({}, "https");
  auto const request = tls.read(bytes).request;
  EXPECT_EQ(request.scheme, "https");
  EXPECT_FALSE(request.has_query);
  std::string const absolute = get("http://b/");
  RequestReader tls_again({}, "https");
  EXPECT_EQ(tls_again.read(absolute).request.scheme, "https");
}

// REQ-2: Expect
TEST(RequestHead, KnowsTheExpectation) {
  EXPECT_TRUE(RequestReader().read(with("Expect: 100-Continue")).request.expects_continue);
  EXPECT_FALSE(RequestReader().read(with("Expect: other")).request.expects_continue);
  EXPECT_FALSE(RequestReader().read(get("/")).request.expects_continue);
  auto const one_0 = RequestReader().read("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(step_name(one_0.step), "ready");
  EXPECT_FALSE(one_0.request.expects_continue);
}

// REQ-3: each bound is the caller's
TEST(RequestHead, HoldsTheLimitsOfTheCaller) {
  HeadLimits limits;
  limits.target = 2;
  EXPECT_EQ(step_name(RequestReader(limits).read(get("/a")).step), "ready");
  EXPECT_EQ(label(RequestReader(limits).read(get("/ab")).refusal), "target_too_long");
  limits = {};
  limits.head_bytes = get("/").size();
  EXPECT_EQ(step_name(RequestReader(limits).read(get("/")).step), "ready");
  EXPECT_EQ(label(RequestReader(limits).read(get("/a")).refusal), "fields_too_large");
  limits = {};
  limits.field_count = 1;
  EXPECT_EQ(step_name(RequestReader(limits).read(get("/")).step), "ready");
  EXPECT_EQ(label(RequestReader(limits).read(with("X: y")).refusal), "too_many_fields");
  limits = {};
  limits.body = 3;
  EXPECT_EQ(step_name(RequestReader(limits).read(with("Content-Length: 3")).step), "ready");
  EXPECT_EQ(label(RequestReader(limits).read(with("Content-Length: 4")).refusal), "body_too_large");
}

TEST(RequestHead, NeverHoldsMoreFieldsThanItsRoom) {
  HeadLimits limits;
  limits.field_count = 100000;
  std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (std::size_t i = 1; i < max_field_count; ++i) bytes += "X: y\r\n";
  EXPECT_EQ(RequestReader(limits).read(bytes + "\r\n").request.fields.size(), max_field_count);
  EXPECT_EQ(label(RequestReader(limits).read(bytes + "X: y\r\n\r\n").refusal), "too_many_fields");
}

// REQ-1: the answer of each reason; OBS-2: labels are closed and distinct
TEST(Refusal, HasAStatusAndALabel) {
  std::set<std::string_view> labels;
  for (std::size_t i = 0; i < refusal_count; ++i) {
    auto const refusal = static_cast<Refusal>(i);
    EXPECT_TRUE(labels.insert(label(refusal)).second) << label(refusal);
    int expected = 400;
    if (refusal == Refusal::target_too_long) expected = 414;
    if (refusal == Refusal::fields_too_large || refusal == Refusal::too_many_fields) expected = 431;
    if (refusal == Refusal::body_too_large) expected = 413;
    if (refusal == Refusal::transfer_coding) expected = 501;
    if (refusal == Refusal::version) expected = 505;
    EXPECT_EQ(status_of(refusal), expected) << label(refusal);
  }
  EXPECT_EQ(label(Refusal::malformed), "malformed");
  EXPECT_EQ(label(Refusal::chunked_in_1_0), "chunked_in_1_0");
  EXPECT_EQ(label(Refusal::none), "none");
}

void expect_same_meaning(std::string const& bytes, RequestHead const& head) {
  auto const again = read_again(bytes);
  ASSERT_TRUE(again.has_value()) << testing::PrintToString(bytes);
  auto const& request = head.request;
  EXPECT_EQ(again->method, request.method);
  EXPECT_EQ(again->target, request.target);
  EXPECT_EQ(again->version, request.version == 11 ? "HTTP/1.1" : "HTTP/1.0");
  EXPECT_EQ(again->framing, framing_text(request.framing));
  EXPECT_EQ(again->size, head.size);
  std::string fields;
  for (auto const& [name, value] : again->fields) fields.append(name).append("=").append(value).append("\n");
  EXPECT_EQ(fields, fields_text(request.fields));
}

// REQ-1: nothing malformed is ever forwarded
TEST(SecondParser, ReadsEveryAcceptedRowTheSame) {
  for (auto const& row : accepted_rows()) {
    SCOPED_TRACE(row.name);
    RequestReader reader;
    expect_same_meaning(row.bytes, reader.read(row.bytes));
  }
}

std::string mutated(std::string bytes, std::mt19937_64& random) {
  static std::string const alphabet = std::string("\0\r\n\t :,;#%*/?\"+-09aAzZ\x7F\x80\xFF", 25);
  static std::string const lines[] = {
      "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Host: b\r\n", " x\r\n", "\r\n", "X: y\n"};
  for (auto rounds = random() % 3 + 1; rounds > 0; --rounds) {
    std::size_t const at = random() % bytes.size();
    char const c = alphabet[random() % alphabet.size()];
    switch (random() % 4) {
      case 0:
        bytes[at] = c;
        break;
      case 1:
        bytes.insert(at, 1, c);
        break;
      case 2:
        bytes.erase(at, 1);
        break;
      default:
        if (std::size_t const line = bytes.find('\n', at); line != std::string::npos)
          bytes.insert(line + 1, lines[random() % std::size(lines)]);
    }
  }
  return bytes;
}

// REQ-1: on bytes that are nearly right, an acceptance is one that the second parser shares
TEST(SecondParser, SharesEveryAcceptanceOfMutatedRows) {
  std::mt19937_64 random(20240601);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 400; ++round) {
    for (auto const& row : accepted_rows()) {
      if (row.bytes.size() > 300) continue;
      std::string const bytes = mutated(row.bytes, random);
      RequestReader reader;
      auto const head = reader.read(bytes);
      if (head.step == HeadStep::refused) ++refused;
      if (head.step != HeadStep::ready) continue;
      ++accepted;
      expect_same_meaning(bytes, head);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(accepted, 2000u);
  EXPECT_GT(refused, 2000u);
}

}  // namespace
}  // namespace weir::wire
