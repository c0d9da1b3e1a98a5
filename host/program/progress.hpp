// Shows on a terminal what is being done: one line on stderr that the next one replaces.
#pragma once

#include <string>

namespace tool {

class Progress {
  public:
    Progress();
    ~Progress(); // wipes the line
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const std::string& what);

  private:
    bool on_terminal_;
    size_t width_ = 0;
};

} // namespace tool
