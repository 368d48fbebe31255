// links: weir_observe Boost::json
// What a client sends, as a line of the access log: it begins no line of its own, ends no quoted part, and JSON stays JSON;
// the queue gives back what was put in (OBS-4).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>

#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/observe/access_log.hpp"
#include "weir/observe/json_text.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

std::string line_of(observe::Access const& access, observe::LogFormat format) {
  std::string line;
  observe::append_access_line(line, access, format);
  return line;
}

std::size_t quotes_in(std::string_view line) {
  std::size_t quotes = 0;
  for (char const c : line) quotes += c == '"';
  return quotes;
}

void expect_plain(std::string_view line) {
  for (char const c : line) WEIR_ASSERT(c >= 0x20 && c < 0x7F);
  WEIR_ASSERT(quotes_in(line) == 10);  // request, referer, agent, host, Cache-Status
}

void expect_json(std::string const& line, observe::Access const& access) {
  boost::system::error_code error;
  auto const parsed = boost::json::parse(line, error);
  WEIR_ASSERT(!error && parsed.is_object());
  for (char const c : line) WEIR_ASSERT(static_cast<unsigned char>(c) >= 0x20);
  auto const& object = parsed.get_object();
  auto const* const client = object.if_contains("client");
  WEIR_ASSERT(client != nullptr && std::string_view(client->get_string()) == observe::valid_utf8(access.client));
  if (access.version == 0) return;
  WEIR_ASSERT(std::string_view(object.at("target").get_string()) == observe::valid_utf8(access.target));
}

void expect_queued(observe::Access const& access) {
  static observe::AccessQueue queue(std::size_t{1} << 16U);
  observe::Access popped;
  std::string storage;
  WEIR_ASSERT(queue.push(access) && queue.pop(popped, storage) && !queue.pop(popped, storage));
  auto cut = access;
  for (auto* const text :
       {&cut.client, &cut.method, &cut.target, &cut.host, &cut.site, &cut.referer, &cut.agent, &cut.request_id})
    *text = text->substr(0, observe::Access::longest);
  WEIR_ASSERT(line_of(popped, observe::LogFormat::json) == line_of(cut, observe::LogFormat::json));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  observe::Access access;
  auto const kind = take_byte(text);
  access.version = bit(kind, 0) ? 11 : bit(kind, 1) ? 10 : 0;
  access.status = 200 + kind;
  access.body_bytes = std::uint64_t{kind} << 32U;
  access.came = base::WallTime(std::chrono::seconds(std::int64_t{kind} * 36'000'000));
  access.until_answer = std::chrono::nanoseconds(kind);
  access.cache_status.hit = bit(kind, 2);
  access.whole = bit(kind, 3);
  for (auto* const part : {&access.client, &access.method, &access.target, &access.host, &access.site, &access.referer,
                           &access.agent, &access.request_id})
    *part = take(text, '\0');
  expect_plain(line_of(access, observe::LogFormat::text));
  expect_json(line_of(access, observe::LogFormat::json), access);
  expect_queued(access);
  return 0;
}
