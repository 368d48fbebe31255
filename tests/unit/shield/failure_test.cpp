// OBS-1: what Proxy-Status and the client are told of a failure.
#include <gtest/gtest.h>

#include "weir/shield/flight.hpp"

namespace weir::shield {
namespace {

// OBS-1, COA-5, FWD-6
TEST(Failure, error_types_and_statuses) {
  struct Row {
    FailureKind kind;
    std::string_view error;
    int status;
  };
  for (auto const& row :
       {Row{FailureKind::internal, "proxy_internal_error", 502}, Row{FailureKind::dns, "dns_error", 502},
        Row{FailureKind::connect_refused, "connection_refused", 502},
        Row{FailureKind::connect_timeout, "connection_timeout", 504}, Row{FailureKind::tls, "tls_protocol_error", 502},
        Row{FailureKind::connection_broken, "connection_terminated", 502},
        Row{FailureKind::read_timeout, "connection_read_timeout", 504},
        Row{FailureKind::bad_response, "http_protocol_error", 502},
        Row{FailureKind::response_too_large, "http_response_header_section_size", 502},
        Row{FailureKind::queue_full, "connection_limit_reached", 503},
        Row{FailureKind::queue_timeout, "connection_limit_reached", 503},
        Row{FailureKind::breaker_open, "destination_unavailable", 503},
        Row{FailureKind::shutting_down, "proxy_internal_response", 503},
        Row{FailureKind::abandoned, "proxy_internal_response", 503}, Row{FailureKind::loop, "proxy_loop_detected", 508}}) {
    SCOPED_TRACE(row.error);
    EXPECT_EQ(proxy_error(row.kind), row.error);
    EXPECT_EQ(status_of(row.kind), row.status);
  }
}

}  // namespace
}  // namespace weir::shield
