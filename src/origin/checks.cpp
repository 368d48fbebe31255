#include "weir/origin/checks.hpp"

#include <array>
#include <exception>
#include <string>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "weir/observe/log.hpp"
#include "weir/origin/pool.hpp"
#include "weir/wire/lasting.hpp"

namespace weir::origin {
namespace {

// The checks of one server.
struct Check {
  config::Origin settings;
  std::weak_ptr<Servers> servers;
  std::shared_ptr<asio::ssl::context> tls;
  std::size_t index = 0;
};

std::string request_of(config::Origin const& settings, Address const& address) {
  auto const& host = settings.host_header.empty() ? address.authority : settings.host_header;
  return "GET " + settings.health_check->path + " HTTP/1.1\r\nHost: " + host +
         "\r\nUser-Agent: Weir\r\nConnection: close\r\n\r\n";
}

constexpr std::size_t most_read = std::size_t{16} * 1024;

// "HTTP/1.1 204": the version and the status are all that counts.
bool is_healthy(std::string_view answer) noexcept {
  return answer.size() >= 12 && answer.starts_with("HTTP/1.") && answer[8] == ' ' && (answer[9] == '2' || answer[9] == '3');
}

asio::awaitable<bool> answers_well(asio::io_context& io, Check const& check, Address const& address, wire::Dialer& dialer) {
  auto const due = base::Clock::now() + check.settings.health_check->timeout;
  auto const connected = co_await open_connection(io, dialer, address, check.tls.get(), check.settings.tls.server_name, due);
  if (!connected.connection) co_return false;
  auto& connection = *connected.connection;
  connection.deadline.expires_at(due);
  auto const request = request_of(check.settings, address);
  auto const sent = co_await connection.stream->write(asio::buffer(request));
  if (sent.error) co_return false;
  // To its end, within reason: who closes on unread bytes resets the connection, and that is noise in the origin's log.
  std::array<char, most_read> answer{};
  std::size_t size = 0;
  while (size < answer.size()) {
    auto const got = co_await connection.stream->read_some(std::span(answer).subspan(size));
    if (got.error) break;
    size += got.bytes;
  }
  connection.stream->close();
  co_return is_healthy({answer.data(), size});
}

// False: nobody asks these servers any more.
bool tell(Check const& check, bool healthy) {
  auto const servers = check.servers.lock();
  if (!servers) return false;
  if (servers->checked(check.index, healthy))
    observe::log_warning(healthy ? "server-back" : "server-out",
                         {{"origin", check.settings.name}, {"server", check.settings.servers[check.index]}});
  return true;
}

asio::awaitable<void> keep_checking(asio::io_context& io, Check check, Address address) {
  wire::Dialer dialer(io, {address.host, address.port, address.unix_path});
  asio::basic_waitable_timer<base::Clock> pause(io);
  for (;;) {
    bool const healthy = co_await answers_well(io, check, address, dialer);
    if (!tell(check, healthy)) co_return;
    pause.expires_after(check.settings.health_check->interval);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace

void start_checks(asio::io_context& io, config::Origin const& settings, std::shared_ptr<Servers> const& servers,
                  std::shared_ptr<asio::ssl::context> const& tls) {
  if (!settings.health_check || servers->size() < 2 || !servers->begin_checks()) return;
  for (std::size_t i = 0; i < servers->size(); ++i) {
    auto const end = [](std::exception_ptr const& failure) {
      if (!failure) return;
      try {
        std::rethrow_exception(failure);
      } catch (std::exception const& error) {
        observe::log_error("health-check-failed", {{"what", std::string_view(error.what())}});
      }
    };
    auto const address = servers->address(i);
    Check const check{settings, servers, tls, i};
    wire::Lasting::begin(
        io, [&io, check, address] { return keep_checking(io, check, address); }, end);
  }
}

}  // namespace weir::origin
