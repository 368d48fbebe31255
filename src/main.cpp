// weir: options, configuration, then the daemon until a signal ends it (LCY-1, LCY-2).
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "weir/config/load.hpp"
#include "weir/daemon/command.hpp"
#include "weir/daemon/daemon.hpp"
#include "weir/daemon/notify.hpp"
#include "weir/daemon/options.hpp"
#include "weir/observe/build.hpp"
#include "weir/observe/log.hpp"
#include "weir/wire/dialer.hpp"

extern char** environ;

namespace {

constexpr int exit_ok = 0, exit_run_time = 1, exit_usage = 2, exit_unclean = 3;

// Waits at most `patience` for one of our signals; 0: none came.
int next_signal(sigset_t const& signals, weir::base::Duration patience) {
  timespec const limit{static_cast<time_t>(patience.count() / 1'000'000'000),
                       static_cast<long>(patience.count() % 1'000'000'000)};
  int const signal = sigtimedwait(&signals, nullptr, &limit);
  return signal < 0 ? 0 : signal;
}

sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int const signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before the first thread: all inherit it
  ::signal(SIGPIPE, SIG_IGN);
  for (int const signal : {SIGHUP, SIGUSR1}) ::signal(signal, SIG_DFL);
  return signals;
}

// Tells the service manager that all threads still turn, as often as it asked for.
class Watchdog {
 public:
  explicit Watchdog(weir::daemon::Daemon& daemon) : daemon_(daemon), interval_(weir::daemon::watchdog_interval()) {}
  void look() {
    auto const now = weir::base::Clock::now();
    if (!interval_ || now - told_ < *interval_ / 4 || !daemon_.turns()) return;
    told_ = now;
    weir::daemon::notify_alive();
  }

 private:
  weir::daemon::Daemon& daemon_;
  std::optional<weir::base::Duration> interval_;
  weir::base::SteadyTime told_{};
};

// Until TERM, INT or an operator's drain.
weir::daemon::Ended serve(weir::daemon::Daemon& daemon, sigset_t const& signals) {
  using namespace std::chrono_literals;
  Watchdog watchdog(daemon);
  while (!daemon.drain_requested()) {
    int const signal = next_signal(signals, 100ms);
    if (signal == SIGTERM || signal == SIGINT) break;
    if (signal == SIGUSR1) daemon.reopen_logs();
    if (signal == SIGHUP) daemon.reload();
    watchdog.look();
  }
  weir::daemon::notify_stopping();
  return daemon.drain([&](weir::base::Duration patience) {
    int const signal = next_signal(signals, patience);
    if (signal == SIGUSR1) daemon.reopen_logs();
    watchdog.look();
    return signal == SIGTERM || signal == SIGINT;
  });
}

int run(weir::config::Settings settings, weir::config::Sources const& sources) {
  namespace observe = weir::observe;
  auto const signals = block_signals();
  observe::LogOptions log;
  log.level = observe::parse_log_level(settings.log.level).value_or(observe::LogLevel::info);
  log.format = settings.log.format == weir::config::LogFormat::json ? observe::LogFormat::json : observe::LogFormat::text;
  log.file = settings.log.file;
  if (auto const error = observe::start_log(log)) {
    std::cerr << "weir: cannot open " << log.file << ": " << error.message() << '\n';
    return exit_run_time;
  }
  int code = exit_run_time;
  try {
    weir::daemon::Daemon daemon(std::move(settings), [&sources] { return weir::daemon::load_again(sources); });
    for (auto const& address : daemon.addresses())
      observe::log_info("listening", {{"address", address}, {"version", observe::version}});
    weir::daemon::notify_ready("serving");
    switch (serve(daemon, signals)) {
      case weir::daemon::Ended::clean:
        code = exit_ok;
        break;
      case weir::daemon::Ended::snapshot_lost:
        code = exit_run_time;
        break;
      case weir::daemon::Ended::unclean:
        code = exit_unclean;
    }
    daemon.finish();
    // A question for a name cannot be ended, and to destroy who asked is to wait for it: a minute, with name servers away.
    if (weir::wire::questions_under_way() != 0) {
      observe::stop_log();
      std::_Exit(code);
    }
  } catch (std::exception const& error) { observe::log_error("cannot-run", {{"why", std::string_view(error.what())}}); }
  observe::stop_log();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using weir::daemon::Action;
  if (argc > 1 && weir::daemon::is_command(argv[1])) return weir::daemon::run_command(argc, argv, environ);
  for (int const signal : {SIGHUP, SIGUSR1}) ::signal(signal, SIG_IGN);  // until there is something to reload
  auto const options = weir::daemon::parse_options(argc, argv, environ);
  if (options.action == Action::exit) return options.exit_code;

  auto loaded = weir::config::load(options.sources);
  for (auto const& warning : loaded.warnings) std::cerr << "weir: warning: " << warning << '\n';
  // What certificates and authorities hold belongs to a configuration's mistakes too.
  if (loaded.known() != nullptr && options.action != Action::dump) {
    if (!loaded.is_wrong_in("listen")) weir::server::make_prefaces(*loaded.known(), loaded.mistakes);
    if (!loaded.is_wrong_in("origins")) weir::origin::try_tls(*loaded.known(), loaded.mistakes);
  }
  if (!loaded.mistakes.empty()) loaded.settings.reset();
  for (auto const& mistake : loaded.mistakes) std::cerr << "weir: " << mistake.text() << '\n';
  if (!loaded.settings) return exit_usage;
  switch (options.action) {
    case Action::test:
      std::cout << "configuration is good\n";
      return exit_ok;
    case Action::dump:
      std::cout << weir::config::dump_yaml(*loaded.settings);
      return exit_ok;
    case Action::exit:
      return options.exit_code;
    case Action::run:
      break;
  }
  return run(std::move(*loaded.settings), options.sources);
}
