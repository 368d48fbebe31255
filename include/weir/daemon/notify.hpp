// What the service manager is told (systemd's sd_notify protocol, LCY-2): one datagram each to the socket that NOTIFY_SOCKET
// names. Without that variable every call does nothing, and one that cannot be sent is nobody's failure. Threads: any.
#pragma once

#include <optional>
#include <string_view>

#include "weir/base/clock.hpp"

namespace weir::daemon {

void notify_ready(std::string_view status);
void notify_reloading();
void notify_stopping();
void notify_alive();
// How often the service manager wants to hear `notify_alive` (WATCHDOG_USEC); nothing: it does not.
std::optional<base::Duration> watchdog_interval();

}  // namespace weir::daemon
