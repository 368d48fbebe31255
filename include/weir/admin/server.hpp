// The operator's door: `admin.listen` and `admin.metrics_listen`, served by one thread of their own with an io_context of
// their own, never by a worker. Bounds: so many connections to each, 16 KiB of head, 1 MiB of body, and a time limit on
// every step. Owner: the daemon; stops last, so that a drain can be watched to its end. Threads: `open`, `stop` and the
// destructor from the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/system/result.hpp>

#include "weir/admin/router.hpp"
#include "weir/config/settings.hpp"

namespace weir::admin {

inline constexpr std::size_t max_connections = 64;       // to `listen`
inline constexpr std::size_t max_open_connections = 32;  // to `metrics_listen`, where nobody shows a token
inline constexpr std::size_t max_body = 1 << 20;

enum class StartFault : std::uint8_t { bad_address, token_required, token_unreadable, cannot_listen };
struct StartError {
  StartFault fault = StartFault::bad_address;
  std::string text;  // a sentence that names the setting
};

// What stands in a file that admin.token_file names, without the end of its line; empty for no file.
boost::system::result<std::string, StartError> read_token(std::string const& file);

class Server {
 public:
  // Listens and starts the thread. A listener that is empty or "off" is not opened; with neither there is no thread.
  static boost::system::result<std::unique_ptr<Server>, StartError> open(config::Admin const& settings, Router admin,
                                                                         Router open);
  ~Server();
  Server(Server const&) = delete;
  Server& operator=(Server const&) = delete;

  // Closes what is idle, lets calls under way end for at most a second, joins the thread. Idempotent.
  void stop() noexcept;

  // For port 0; 0 where there is no TCP listener.
  std::uint16_t port() const noexcept;
  std::uint16_t metrics_port() const noexcept;
  // For tests that turn the clock: a due timer posted here makes the thread look at its deadlines again.
  boost::asio::io_context& context() noexcept;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::admin
