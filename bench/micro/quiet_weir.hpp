// A Weir that answers out of its memory store without sockets: a real daemon that nobody connects to, requests that lie in
// memory, and a `sendmsg` of this program's own that takes all and sends nothing. What remains is what a hit costs Weir
// itself. Threads: one a desk; the store is filled before they begin.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weir/daemon/daemon.hpp"

namespace weir::bench {

// A request head of 150 bytes and four fields, or more with `fields` (each line with its CRLF).
std::string request_for(std::string_view path, std::string_view fields = {});
std::string path_of(std::uint64_t number);  // "/x/00000042"

class QuietWeir {
 public:
  explicit QuietWeir(std::size_t workers = 1);

  // Stores the answer to `request_for(path)`: 200 with a body and a head as the origin would send, for a day. `vary`: the
  // field name that selects it.
  void store(std::string_view path, std::size_t body_size, std::string_view vary = {});
  void store_many(std::uint64_t count, std::size_t body_size);  // path_of(0) and on
  daemon::Daemon& daemon() noexcept { return daemon_; }
  config::Settings const& settings() const noexcept { return *settings_; }

  // The place of a worker: what a session does with a request that is there whole.
  class Desk {
   public:
    Desk(QuietWeir& weir, std::uint16_t worker);
    bool answer(std::string_view request);  // true: answered at once

   private:
    boost::asio::io_context io_;
    proxy::Local local_;
    proxy::Client client_;
    proxy::Exchange exchange_;
    std::unique_ptr<wire::HeadRoom> room_ = std::make_unique<wire::HeadRoom>();
  };

 private:
  std::shared_ptr<config::Settings const> settings_;
  daemon::Daemon daemon_;
  std::uint64_t began_ = 0;
};

}  // namespace weir::bench
