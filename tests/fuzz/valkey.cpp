// links: weir_store
// words: resp
// A Valkey server that answers as the input says: rightly, wrongly, late, never, with somebody else's record, in bytes that
// are no reply at all. Each call of the store ends within its time, and nothing that it finds is anything but the record of
// the key that was asked for, whole (VAL-1, VAL-3).
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "../../src/store/reply.hpp"
#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/hash.hpp"
#include "weir/base/turned_clock.hpp"
#include "weir/cache/key.hpp"
#include "weir/store/record.hpp"
#include "weir/store/valkey_store.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
constexpr std::string_view head = "HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n", body = "what was stored";

std::string key_of(std::string_view path) {
  cache::KeyBytes key;
  cache::append_url_key("http", "shop.example", {.path = path, .query = {}}, key);
  return std::string(cache::view(key));
}

cache::Entry make_entry(std::string_view key, std::uint64_t purge_number, cache::MemoryAccount& account) {
  cache::StoredResponse::Parts parts{key, "", head, {}};
  parts.facts.response_time = base::Clock::now();
  parts.facts.status = 200;
  parts.facts.lifetime = 1h;
  parts.facts.began = parts.facts.purge_number = purge_number;
  auto entry = cache::StoredResponse::make(parts, body.size(), account);
  body.copy(entry->body_area(), body.size());
  return entry;
}

std::string bulk(std::string_view text) { return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n"; }

class Server {
 public:
  Server(asio::io_context& io, std::string path, std::string_view script, std::vector<std::string> records)
      : acceptor_(io, Unix::endpoint(path)), script_(script), records_(std::move(records)) {
    asio::co_spawn(io, accept(), [](std::exception_ptr failure) { WEIR_ASSERT(!failure); });
  }

 private:
  asio::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(tuple);
      if (error) co_return;
      asio::co_spawn(acceptor_.get_executor(), serve(std::move(socket)),
                     [](std::exception_ptr failure) { WEIR_ASSERT(!failure); });
    }
  }

  asio::awaitable<void> serve(Unix::socket socket) {
    store::ReplyReader reader(std::size_t{1} << 20U);
    std::vector<char> buffer(16'384);
    for (bool open = true; open;) {
      auto const got = co_await socket.async_read_some(asio::buffer(buffer), tuple);
      if (std::get<0>(got)) co_return;
      WEIR_ASSERT(reader.feed({buffer.data(), std::get<1>(got)}));
      std::string out;
      while (auto const command = reader.next()) open = answer(*command, out) && open;
      WEIR_ASSERT(!reader.broken());
      auto const sent = co_await asio::async_write(socket, asio::buffer(out), tuple);
      if (std::get<0>(sent)) co_return;
    }
  }

  // False: the connection is closed.
  bool answer(store::Reply const& command, std::string& out) {
    auto const how = take_byte(script_);
    switch (how & 7U) {
      case 3:  // bytes of any kind
        out += take_some();
        return true;
      case 4:
        return true;
      case 5:
        return false;
      case 6:
        out += "*3\r\n" + bulk("message") + bulk("weir:news") + bulk(take_some());
        [[fallthrough]];
      default:
        out += right(command, how);
        return true;
    }
  }

  std::string right(store::Reply const& command, std::uint8_t how) {
    auto const word = command[0].text().value_or("");
    static constexpr std::string_view times[] = {"1800000000", "9223372036854775807", "-1", "1000000000000"};
    if (word == "TIME") return "*2\r\n" + bulk(times[how >> 3U & 3U]) + bulk((how & 32U) != 0 ? "1000000" : "0");
    if (word == "GET") return record(how);
    if (word == "GETRANGE")
      return how >> 6U == 1 ? bulk("") : bulk(records_[how >> 3U & 3U].substr(0, store::identity_size));
    if (word == "MGET") return values(command.size() - 1, how);
    if (word == "EVALSHA") return (how & 7U) == 1 ? page() : ":" + number(how >> 3U) + "\r\n";
    if (word == "SET") return (how & 8U) != 0 ? "$-1\r\n" : "+OK\r\n";
    if (word == "SUBSCRIBE") return "*3\r\n" + bulk("subscribe") + bulk("weir:news") + ":1\r\n";
    if (word == "PING") return "*2\r\n" + bulk("pong") + bulk("");
    return "+OK\r\n";
  }

  static std::string number(unsigned how) {
    return how == 31 ? "-1" : how == 30 ? "9223372036854775807" : std::to_string(how);
  }

  // None, one of ours as it is, cut, or with a byte that is another.
  std::string record(std::uint8_t how) {
    if (how == 0) return "$-1\r\n";
    auto bytes = records_[how >> 3U & 3U];
    if (how >> 6U == 1) bytes.resize(std::min<std::size_t>(bytes.size(), take_byte(script_)));
    if (how >> 6U == 2) bytes[take_byte(script_) % bytes.size()] ^= static_cast<char>(take_byte(script_) | 1U);
    return bulk(bytes);
  }

  // Purge state and key records.
  std::string values(std::size_t count, std::uint8_t how) {
    auto out = "*" + std::to_string(count) + "\r\n";
    for (std::size_t i = 0; i < count; ++i) {
      bool const is_number = i < 2;
      if ((how & 7U) == 0 || (how >> 3U & (1U << i)) != 0)
        out += "$-1\r\n";
      else
        out += bulk(is_number ? std::to_string(take_byte(script_)) : take_some());
    }
    return out;
  }

  std::string page() {
    auto const rows = std::size_t{take_byte(script_)} % 4;
    auto out = "*" + std::to_string(4 + 3 * rows) + "\r\n";
    for (int i = 0; i < 4; ++i) out += ":" + std::to_string(take_byte(script_)) + "\r\n";
    for (std::size_t i = 0; i < rows; ++i)
      out += bulk(take_some()) + ":" + std::to_string(take_byte(script_)) + "\r\n" + bulk(take_some());
    return out;
  }

  std::string take_some() {
    auto const some = script_.substr(0, std::min<std::size_t>(script_.size(), take_byte(script_)));
    script_.remove_prefix(some.size());
    return std::string(some);
  }

  Unix::acceptor acceptor_;
  std::string_view script_;
  std::vector<std::string> records_;
};

struct Scene {
  explicit Scene(std::string path) : store(rules(std::move(path)), account, purges, epochs) {
    key = key_of("/wanted");
    question = {key, base::hash_bytes(key), {}, &key_rules, 1};
    store.attach(io);
  }
  static store::ValkeyRules rules(std::string path) {
    store::ValkeyRules rules;
    rules.unix_path = std::move(path);
    rules.near_bytes = 1U << 20U;
    return rules;
  }

  void check(store::Lookup const& found) {
    if (found.entry) WEIR_ASSERT(found.entry->key() == key && found.entry->head() == head && found.entry->body() == body);
  }

  asio::awaitable<void> play(std::uint8_t what) {
    auto const now = base::read_clock;
    if (bit(what, 0)) store.put(make_entry(key, 1, account), base::Clock::now() + 1h, 8, now());
    check(co_await store.find(question, now()));
    if (bit(what, 1)) {
      store::TurnRequest request{key, {}, 1s, 0, [] { return true; }};
      auto const turn = co_await store.take_turn(std::move(request));
      WEIR_ASSERT((turn.what == store::Turn::What::taken) == static_cast<bool>(turn.lease));
    }
    auto const before = purges.current();
    if (bit(what, 2)) co_await store.share(make_entry(key, 2, account), base::Clock::now() + 1h, 8, 0);
    if (bit(what, 3)) {
      auto const number = purges.next();
      std::vector<std::string> keys{key};
      auto const holds = co_await store.share_invalidation(std::move(keys), cache::Invalidation::invalid, number, 0);
      WEIR_ASSERT(holds >= number);
    }
    if (bit(what, 4)) store.share_purge({cache::tag_of_all()}, cache::Invalidation::hard, purges.next());
    if (bit(what, 5)) store.mark_hit_for_miss(key, question.hash, base::Clock::now() + 1min, now());
    check(co_await store.find(question, now()));
    check(store.peek(question, now()));
    WEIR_ASSERT(purges.current() >= before && purges.next() > before);
    done = true;
  }

  // All that can be done now; then a moment passes.
  void go_on() {
    while (io.poll() > 0) {}
    base::turn_clock(50ms);
    bool seen = false;
    asio::basic_waitable_timer<base::Clock> nudge(io, base::SteadyTime{});
    nudge.async_wait([&](boost::system::error_code) { seen = true; });
    while (!seen) io.run_one();
  }

  cache::MemoryAccount account;
  cache::PurgeNumber purges;
  cache::Epochs epochs{100};
  cache::KeyRules key_rules;
  store::ValkeyStore store;
  asio::io_context io{1};  // dies first, with every frame
  std::string key;
  store::Question question;
  bool done = false;
};

constexpr int longest = 400;  // moments: 20 s

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto script = text_of(data, size);
  auto const what = take_byte(script);
  auto const path = std::string(1, '\0') + "weir-fuzz-" + std::to_string(::getpid());
  cache::MemoryAccount account;
  std::vector<std::string> records;
  {
    store::Moment const moment{base::Clock::now(), 1'800'000'000'000'000};
    for (auto const& [of, number] : {std::pair("/wanted", 1), {"/wanted", 9}, {"/another", 1}, {"/wanted", 200}})
      records.push_back(store::encode(*make_entry(key_of(of), static_cast<std::uint64_t>(number), account),
                                      base::Clock::now() + 1h, moment));
  }
  auto scene = std::make_unique<Scene>(path);
  auto server = std::make_unique<Server>(scene->io, path, script, std::move(records));
  asio::co_spawn(scene->io, scene->play(what), [](std::exception_ptr failure) { WEIR_ASSERT(!failure); });
  for (int i = 0; !scene->done && i < longest; ++i) scene->go_on();
  WEIR_ASSERT(scene->done);
  scene->store.detach();
  server.reset();
  scene.reset();
  return 0;
}
