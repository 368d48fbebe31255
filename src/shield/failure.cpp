#include "weir/shield/flight.hpp"

namespace weir::shield {

std::string_view proxy_error(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::internal:
      return "proxy_internal_error";
    case FailureKind::dns:
      return "dns_error";
    case FailureKind::connect_refused:
      return "connection_refused";
    case FailureKind::connect_timeout:
      return "connection_timeout";
    case FailureKind::tls:
      return "tls_protocol_error";
    case FailureKind::connection_broken:
      return "connection_terminated";
    case FailureKind::read_timeout:
      return "connection_read_timeout";
    case FailureKind::bad_response:
      return "http_protocol_error";
    // Only a head can be too large: bodies are streamed.
    case FailureKind::response_too_large:
      return "http_response_header_section_size";
    case FailureKind::queue_full:
    case FailureKind::queue_timeout:
      return "connection_limit_reached";
    case FailureKind::breaker_open:
    case FailureKind::elsewhere:
      return "destination_unavailable";
    case FailureKind::shutting_down:
    case FailureKind::abandoned:
      return "proxy_internal_response";
    case FailureKind::loop:
      return "proxy_loop_detected";
  }
  return "proxy_internal_error";
}

int status_of(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::connect_timeout:
    case FailureKind::read_timeout:
      return 504;
    case FailureKind::queue_full:
    case FailureKind::queue_timeout:
    case FailureKind::breaker_open:
    case FailureKind::shutting_down:
    case FailureKind::abandoned:
    case FailureKind::elsewhere:
      return 503;
    case FailureKind::loop:
      return 508;
    case FailureKind::internal:
    case FailureKind::dns:
    case FailureKind::connect_refused:
    case FailureKind::tls:
    case FailureKind::connection_broken:
    case FailureKind::bad_response:
    case FailureKind::response_too_large:
      return 502;
  }
  return 502;
}

}  // namespace weir::shield
