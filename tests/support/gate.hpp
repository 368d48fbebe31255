// A gate is closed until a test opens it, and open for good after. Copies are the same gate, so a script may keep one that
// outlives the test's own. Threads: any.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "support/deadline.hpp"

namespace weir::test {

class Gate {
 public:
  Gate() : state_(std::make_shared<State>()) {}

  void open();
  bool is_open() const;
  // How many wait at the gate now, and how many ever did.
  int waiting() const;
  int arrived() const;

  // True once open. When `bound` passes the test fails, and the answer is false.
  bool wait(Milliseconds bound = patience) const;
  // The same for a waiter that has other reasons to leave: `leave()` is asked every few milliseconds; false if it said so.
  template <class Leave>
  bool wait_unless(Leave&& leave, Milliseconds bound = patience) const {
    Visit visit(*state_);
    for (Deadline deadline(bound); !wait_slice();) {
      if (leave()) return false;
      if (deadline.passed()) return report_closed();
    }
    return true;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;
    int waiting = 0;
    int arrived = 0;
  };
  class Visit {
   public:
    explicit Visit(State& state);
    ~Visit();
    Visit(Visit const&) = delete;
    Visit& operator=(Visit const&) = delete;

   private:
    State& state_;
  };

  bool wait_slice() const;      // waits a few milliseconds; whether the gate is open
  static bool report_closed();  // fails the test; false

  std::shared_ptr<State> state_;
};

}  // namespace weir::test
