// Request smuggling: whatever a client sends, it is refused, or it reaches the origin as one message that Weir and a strict
// reader behind it read alike. What follows on either connection is its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "scenario/framing_shapes.hpp"
#include "scenario/line_shapes.hpp"
#include "scenario/raw_client.hpp"
#include "scenario/recording_origin.hpp"

namespace weir::test {
namespace {

std::string const methods[] = {"GET", "HEAD", "MERGE"};

// Whether a head has this in it, in any case.
bool says(Shape const& shape, std::string_view text) {
  auto const head = shape.bytes.substr(0, shape.bytes.find("\r\n\r\n"));
  return std::search(head.begin(), head.end(), text.begin(), text.end(), [](char a, char b) {
           return same_name(std::string_view(&a, 1), std::string_view(&b, 1));
         }) != head.end();
}

// The same from an HTTP/1.0 client; nothing where that is another request altogether.
std::optional<Shape> in_http10(Shape shape) {
  auto const version = shape.bytes.find(" HTTP/1.1\r\n");
  if (version == std::string::npos || shape.refusal == Refusal::host_missing) return std::nullopt;
  shape.bytes.replace(version, 9, " HTTP/1.0");
  shape.is_old = true;
  shape.closes = !says(shape, "\r\nconnection: keep-alive");
  shape.continues = false;
  bool const by_coding = shape.refusal == Refusal::transfer_coding || shape.refusal == Refusal::transfer_encoding;
  if (by_coding || (shape.fate != Fate::refused && says(shape, "\r\ntransfer-encoding:"))) {
    shape.fate = Fate::refused;
    shape.status = 400;
    shape.refusal = Refusal::chunked_in_1_0;
  }
  return shape;
}

std::optional<Shape> with_method(Shape shape, std::string const& method) {
  if (!shape.bytes.starts_with("POST ")) return std::nullopt;
  shape.bytes.replace(0, 4, method);
  if (!shape.method.empty()) shape.method = method;
  return shape;
}

// One Weir and one origin for many shapes: what one leaves behind would be found by the next.
class Rig {
 public:
  void run(Shape const& shape, std::size_t piece) {
    SCOPED_TRACE(shape.name + ", pieces of " + std::to_string(piece));
    ++runs_;
    auto const bytes = origin_.bytes();
    auto const calls = origin_.calls();
    auto const refusals = refusals_of(shape);
    RawClient client(weir_.port());
    auto const follows = "/follows/" + std::to_string(runs_);
    client.send(shape.bytes + write_request("GET", follows), shape.bytes.size() > 3'000 ? 997 : piece);
    auto const method = shape.bytes.substr(0, shape.bytes.find(' '));
    auto const answer = client.read(method);
    EXPECT_EQ(answer.status, shape.status) << answer;
    EXPECT_TRUE(answer.complete) << answer.problem;
    EXPECT_EQ(answer.interim.size(), shape.continues ? 1U : 0U);
    bool const ends = shape.closes || shape.fate == Fate::refused || shape.fate == Fate::cut;
    EXPECT_EQ(answer.value("Connection"), ends ? "close" : shape.is_old ? "keep-alive" : "");
    if (shape.fate == Fate::refused) {
      EXPECT_EQ(refusals_of(shape), refusals + 1);
      EXPECT_EQ(origin_.bytes(), bytes);
    }
    auto next = calls;
    if (shape.fate == Fate::forwarded) expect_forwarded(shape, answer, next++);
    if (!ends) expect_own(client.read(), follows, next++);
    EXPECT_TRUE(!ends || client.ends_here());
    expect_another_client_served(next++);
    EXPECT_EQ(origin_.calls(), next);
    EXPECT_EQ(origin_.problems(), std::vector<std::string>());
    for (auto const& request : origin_.requests(calls)) EXPECT_EQ(request.target.find("evil"), std::string::npos);
  }
  int runs() const noexcept { return runs_; }

 private:
  // In HTTP/1.0 some heads have one fault more, and either may be named.
  std::uint64_t refusals_of(Shape const& shape) {
    return shape.is_old ? weir_.outcome(observe::Outcome::refused) : weir_.refusals(shape.refusal);
  }
  void expect_forwarded(Shape const& shape, Response const& answer, std::size_t call) {
    ASSERT_GT(origin_.calls(), call);
    auto const seen = origin_.requests(call)[0];
    // A HEAD without a body may be asked as the GET that it stands for.
    bool const as_get = shape.method == "HEAD" && shape.body.empty() && seen.method == "GET";
    EXPECT_EQ(seen.method, as_get ? "GET" : shape.method);
    EXPECT_EQ(seen.target, shape.target);
    EXPECT_EQ(seen.value("Host"), shape.host);
    EXPECT_EQ(seen.body, shape.body);
    EXPECT_TRUE(seen.trailers.empty());
    for (auto const* const gone : {"TE", "Trailer", "Upgrade", "Keep-Alive", "Proxy-Connection", "HTTP2-Settings",
                                   "Transfer_Encoding", "Content_Length"})
      EXPECT_FALSE(seen.has(gone)) << seen;
    EXPECT_TRUE(!seen.has("Connection") || seen.value("Connection") == "close") << seen;
    EXPECT_EQ(answer.value("X-For"), seen.method + " " + shape.target);
    auto const body = seen.method + " " + shape.target + " " + shape.host + "\n" + shape.body;
    EXPECT_EQ(answer.body, shape.method == "HEAD" ? "" : body);
  }
  void expect_own(Response const& answer, std::string const& target, std::size_t call) {
    EXPECT_EQ(answer.value("X-For"), "GET " + target) << answer;
    EXPECT_EQ(answer.body, "GET " + target + " weir.test\n");
    ASSERT_GT(origin_.calls(), call);
    EXPECT_EQ(origin_.requests(call)[0].target, target);
  }
  void expect_another_client_served(std::size_t call) {
    auto const target = "/next/" + std::to_string(runs_);
    RawClient client(weir_.port());
    client.send(write_request("GET", target));
    expect_own(client.read(), target, call);
  }

  RecordingOrigin origin_{"Cache-Control: no-store\r\n"};
  Weir weir_{origin_.url(), "workers: 1\n"};  // one: so that all clients share its connections to the origin
  int runs_ = 0;
};

// Whole and byte by byte, in HTTP/1.1 and 1.0.
void run_all(std::vector<Shape> const& shapes) {
  Rig rig;
  for (auto const& shape : shapes) {
    for (std::size_t const piece : {std::size_t{100'000}, std::size_t{1}}) {
      rig.run(shape, piece);
      if (auto const old = in_http10(shape)) rig.run(*old, piece);
    }
  }
  testing::Test::RecordProperty("shapes", static_cast<int>(shapes.size()));
  testing::Test::RecordProperty("runs", rig.runs());
}

// And with methods that seldom have a body, and one that nobody knows.
void run_with_all_methods(std::vector<Shape> const& shapes) {
  Rig rig;
  for (auto const& shape : shapes)
    for (auto const& method : methods)
      if (auto const other = with_method(shape, method)) rig.run(*other, 100'000);
  testing::Test::RecordProperty("runs", rig.runs());
}

std::vector<Shape> malformed_heads() {
  std::vector<Shape> shapes;
  for (auto const& rows : {bad_lines_and_targets(), bad_fields(), bad_framings()})
    for (auto const& row : rows)
      if (row.bytes.ends_with("\r\n\r\n") || row.refusal == Refusal::transfer_coding)
        shapes.push_back(refused(testing::PrintToString(row.bytes.substr(0, 60)), row.bytes, row.refusal, row.status));
  return shapes;
}

// REQ-1, REQ-2
TEST(Smuggling, Lengths) { run_all(length_shapes()); }
// REQ-1, REQ-2
TEST(Smuggling, Codings) { run_all(coding_shapes()); }
// REQ-1
TEST(Smuggling, LengthsAndCodings) { run_all(shapes_with_both()); }
// REQ-1, REQ-2
TEST(Smuggling, Chunks) { run_all(chunk_shapes()); }
// REQ-1, REQ-2
TEST(Smuggling, Lines) { run_all(line_shapes()); }
// REQ-1, REQ-2, KEY-2
TEST(Smuggling, TargetsAndHosts) { run_all(target_shapes()); }
// REQ-2, REQ-4, FWD-1
TEST(Smuggling, FieldsOfTheConnection) { run_all(field_shapes()); }
// REQ-1: what is refused alone is refused with a request behind it, and in pieces.
TEST(Smuggling, MalformedHeads) { run_all(malformed_heads()); }

// REQ-1, REQ-2, FWD-4: the method has no say in where a message ends.
TEST(Smuggling, LengthsWithAllMethods) { run_with_all_methods(length_shapes()); }
TEST(Smuggling, CodingsWithAllMethods) { run_with_all_methods(coding_shapes()); }
TEST(Smuggling, LengthsAndCodingsWithAllMethods) { run_with_all_methods(shapes_with_both()); }
TEST(Smuggling, ChunksWithAllMethods) { run_with_all_methods(chunk_shapes()); }

// REQ-1: the tables are no smaller than they were.
TEST(Smuggling, TheTablesAreLarge) {
  EXPECT_GE(length_shapes().size() + coding_shapes().size() + shapes_with_both().size() + chunk_shapes().size() +
                line_shapes().size() + target_shapes().size() + field_shapes().size(),
            350U);
}

}  // namespace
}  // namespace weir::test
