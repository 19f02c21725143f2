// The command line: its output and errors on small files.
#include <array>
#include <cstdio>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "golden.h"

namespace {

struct Ran {
  int status = 0;
  std::string output;  // standard output and error together
};

Ran run(const std::string& arguments) {
  const std::string command = "cd " + triptych::testing::golden_folder() + "/triptych_opt && " +
                              TRIPTYCH_OPT + " " + arguments + " 2>&1";
  Ran ran;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) {
    ran.output.append(buffer.data(), count);
  }
  ran.status = WEXITSTATUS(pclose(pipe));
  return ran;
}

}  // namespace

TEST_CASE("passes by name, verified") {
  const Ran ran =
      run("--verify --pass common_subexpression_elimination,dead_code_elimination graph.txt");
  CHECK(ran.status == 0);
  triptych::testing::check_golden("triptych_opt/graph_after_passes.txt", ran.output);
}

TEST_CASE("without passes a file is parsed and printed") {
  const std::string graph = triptych::testing::read_golden("triptych_opt/graph.txt");
  CHECK(run("graph.txt").output == graph.substr(graph.find('\n') + 1));
  CHECK(run("- < graph.txt").output == graph.substr(graph.find('\n') + 1));
}

TEST_CASE("kernels print and parse") {
  const Ran once = run("--verify kernel.txt");
  CHECK(once.status == 0);
  triptych::testing::check_golden("triptych_opt/kernel_printed.txt", once.output);
  CHECK(run("kernel_printed.txt").output == once.output);
}

TEST_CASE("a graph becomes loops, kernels of a machine, a program; each is read back") {
  std::string passes = "lower";
  for (const auto& [pass, file] :
       std::initializer_list<std::pair<const char*, const char*>>{{"lower", "lowered.txt"},
                                                                  {"fuse", "fused.txt"},
                                                                  {"map", "mapped.txt"},
                                                                  {"plan", "program.txt"}}) {
    if (std::string(pass) != "lower") passes += std::string(",") + pass;
    const Ran whole = run("--verify --pass " + passes + " model.txt");
    CHECK(whole.status == 0);
    triptych::testing::check_golden(std::string("triptych_opt/") + file, whole.output);
    const Ran again = run(std::string("--verify ") + file);
    CHECK(again.status == 0);
    CHECK(again.output == whole.output);
  }
  // One step at a time, through the text of each.
  CHECK(run("--pass fuse lowered.txt").output == run("fused.txt").output);
  CHECK(run("--pass map fused.txt").output == run("mapped.txt").output);
  CHECK(run("--pass plan mapped.txt").output == run("program.txt").output);
}

TEST_CASE("violations are all reported") {
  const Ran ran = run("--verify broken.txt");
  CHECK(ran.status == 1);
  triptych::testing::check_golden("triptych_opt/broken_errors.txt", ran.output);
}

TEST_CASE("mistakes on the command line") {
  CHECK(run("").status == 2);
  CHECK(run("--unknown graph.txt").status == 2);
  CHECK(run("--list").output.find("dead_code_elimination: ") != std::string::npos);
  CHECK(run("--pass nothing graph.txt").output ==
        "triptych-opt: no pass is called 'nothing'; see --list [opt.pass]\n");
  CHECK(run("--pass dead_code_elimination kernel.txt").output ==
        "triptych-opt: dead_code_elimination: found kernels, expected a graph [opt.pass]\n");
  CHECK(run("no_such_file.txt").output ==
        "triptych-opt: no_such_file.txt: cannot be read [graph.file]\n");
}
