// links: weir_store
// words: resp
// What a Valkey server may answer: however its bytes are cut, the replies are the same and none is larger than allowed; what
// was read is written and read again as the same; what we ask is read as it was meant (VAL-1, VAL-3).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../../src/store/key_state.hpp"
#include "../../src/store/reply.hpp"
#include "parts/input.hpp"
#include "weir/base/assert.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

constexpr std::size_t most = 4096;

// As RESP, statuses as strings.
std::string written(store::Reply const& reply) {
  auto const bulk = [](std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
  };
  if (reply.is_array()) {
    auto out = "*" + std::to_string(reply.size()) + "\r\n";
    for (std::size_t i = 0; i < reply.size(); ++i) out += written(reply[i]);
    return out;
  }
  if (reply.is_error()) return "-" + std::string(reply.error()) + "\r\n";
  if (auto const text = reply.text()) return bulk(*text);
  if (auto const number = reply.number()) return ":" + std::to_string(*number) + "\r\n";
  return "$-1\r\n";
}

struct Read {
  std::vector<std::string> replies;
  bool broken = false;
};

Read read(std::string_view bytes, std::size_t piece) {
  store::ReplyReader reader(most);
  Read read;
  while (!bytes.empty() && !reader.broken()) {
    auto const part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    if (!reader.feed(part)) break;
    while (auto const reply = reader.next()) {
      WEIR_ASSERT(reply->size() <= most && reply->text().value_or("").size() <= most);
      WEIR_ASSERT((*reply)[reply->size()].is_null());
      read.replies.push_back(written(*reply));
    }
  }
  read.broken = reader.broken();
  return read;
}

void expect_sound(store::KeyState const& state) {
  WEIR_ASSERT(state.number == 0 || state.mode != cache::Invalidation::none);
  for (auto const now : {INT64_MIN, std::int64_t{0}, INT64_MAX}) WEIR_ASSERT(std::ranges::is_sorted(state.spec(now)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  auto const piece = std::size_t{1} + take_byte(text) % 16;
  auto const whole = read(text.substr(0, most), most);
  auto const pieces = read(text.substr(0, most), piece);
  WEIR_ASSERT(whole.replies == pieces.replies && whole.broken == pieces.broken);
  for (auto const& reply : whole.replies) {
    if (reply.size() > most) continue;
    auto const again = read(reply, piece);
    WEIR_ASSERT(again.replies.size() == 1 && again.replies.front() == reply);
  }
  if (auto const state = store::read_key_state(text)) expect_sound(*state);

  std::vector<std::string_view> words;
  for (auto rest = text; !rest.empty() && words.size() < 8;) words.push_back(take(rest, ' '));
  if (words.empty()) return 0;
  store::Commands commands;
  commands.add(words);
  store::ReplyReader reader(size * 2 + 1024);
  WEIR_ASSERT(reader.feed({commands.bytes.data(), commands.bytes.size()}));
  auto const asked = reader.next();
  WEIR_ASSERT(asked && asked->size() == words.size() && !reader.next());
  for (std::size_t i = 0; i < words.size(); ++i) WEIR_ASSERT((*asked)[i].text() == words[i]);
  return 0;
}
