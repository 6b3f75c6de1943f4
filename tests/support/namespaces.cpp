#include "support/namespaces.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/sanitizers.h"

namespace hocket {

namespace {

const char* const addresses[2] = {TwoHosts::first_address, "10.231.0.2"};
const char* const network = "10.231.0.0/24";

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string quoted(const std::string& word) { return "'" + word + "'"; }  // our words have no quotes in them

// Launchers end all ranks when one dies. So they get to see a shell that stays until the others are done.
void append(std::vector<std::string>& command, const std::vector<std::string>& program, TwoHosts::Survivors survivors) {
  if (survivors == TwoHosts::Survivors::go_on) {
    command.insert(command.end(), {"sh", "-c", "\"$@\"; sleep 3", "rank"});
  }
  command.insert(command.end(), program.begin(), program.end());
}

void clean_up(const std::string (&names)[2], const std::string& folder) {
  for (const std::string& name : names) {
    const std::string command = "for pid in $(ip netns pids " + name +
                                " 2>/dev/null); do kill -9 $pid; done; ip netns del " + name + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) continue;  // it was gone already
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace

std::string TwoHosts::impossible(const std::string& launcher) {
  if (geteuid() != 0) return "two hosts need root, to make network namespaces";
  for (const std::string& program : {std::string("ip"), std::string("tc"), std::string("unshare"), launcher}) {
    if (!on_path(program)) return "two hosts need the program " + program + ", which is not on the PATH";
  }
  // All that the hosts will be made of: a container or a chroot may allow the first and refuse the rest.
  const std::string trial = "hktry" + std::to_string(getpid());
  const std::string commands = "ip netns add " + trial + " && ip netns exec " + trial + " unshare --uts hostname " +
                               trial + " && ip -n " + trial + " link add hkv1 type veth peer name hkv2 && tc -n " +
                               trial + " qdisc add dev hkv1 root tbf rate 1gbit burst 256kb latency 100ms";
  const bool possible = std::system(("exec 2>/dev/null; " + commands).c_str()) == 0;
  if (std::system(("ip netns del " + trial + " 2>/dev/null").c_str()) == 0 && possible) return "";
  return "two hosts need network namespaces, veth pairs and tbf, which this kernel, container or chroot does not allow";
}

TwoHosts::TwoHosts(const std::string& rate, std::string library_folder) : library_folder_(std::move(library_folder)) {
  // For the ranks: MPI libraries, and what they load, leave memory behind when they end.
  if (under_address_sanitizer) setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
  // Nor does thread sanitizer see how these libraries, which are built without it, hand memory from thread to thread; and UCX patches
  // the functions of memory that it has patched itself.
  if (under_thread_sanitizer) {
    setenv("TSAN_OPTIONS", "ignore_noninstrumented_modules=1", 0);
    setenv("UCX_MEM_EVENTS", "n", 0);
  }
  const std::string number = std::to_string(getpid());
  names_[0] = "hk" + number + "a";
  names_[1] = "hk" + number + "b";
  folder_ = (std::filesystem::temp_directory_path() / ("hocket_hosts_" + number)).string();
  std::filesystem::create_directories(folder_);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  guardian_process_ = fork();
  if (guardian_process_ == 0) {  // outlives the test by a moment, even if that is killed
    setsid();
    close(ends[1]);
    char byte = 0;
    while (read(ends[0], &byte, 1) > 0) continue;
    clean_up(names_, folder_);
    _exit(0);
  }
  close(ends[0]);
  guardian_ = ends[1];
  make(rate);
}

TwoHosts::~TwoHosts() {
  close(guardian_);
  waitpid(guardian_process_, nullptr, 0);
}

void TwoHosts::make(const std::string& rate) {
  std::vector<std::string> commands;
  for (const std::string& name : names_) {
    commands.push_back("ip netns add " + name);
    commands.push_back("ip -n " + name + " link set lo up");
  }
  commands.push_back("ip link add hkv1 netns " + names_[0] + " type veth peer name hkv2 netns " + names_[1]);
  for (int host = 0; host < 2; ++host) {
    const std::string device = " dev hkv" + std::to_string(host + 1);
    const std::string link = "hkv" + std::to_string(host + 1);
    commands.push_back("ip -n " + names_[host] + " addr add " + addresses[host] + "/24" + device);
    commands.push_back("ip -n " + names_[host] + " link set " + link + " up");
    commands.push_back("tc -n " + names_[host] + " qdisc add" + device + " root tbf rate " + rate +
                       " burst 256kb latency 100ms");
  }
  for (const std::string& command : commands) {
    if (std::system(command.c_str()) == 0) continue;
    failure_ = "this command failed: " + command;
    return;
  }
  write_agent();
  write_starter();
}

// Stands in for ssh: takes HOST COMMAND…, with options before the host that only ssh understands.
void TwoHosts::write_agent() const {
  const std::string path = folder_ + "/agent";
  std::ofstream agent(path);
  agent << "#!/bin/sh\n"
        << "while [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
        << "case $1 in " << addresses[0] << ") name=" << names_[0] << ";; *) name=" << names_[1] << ";; esac\n"
        << "shift\n"
        << "export LD_LIBRARY_PATH=" << quoted(library_folder_) << "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n"
        << "exec ip netns exec $name unshare --uts sh -c \"hostname $name; $*\"\n";
  agent.close();
  chmod(path.c_str(), S_IRWXU);
}

// Starts so many processes on each host, with the variables of torchrun: PER_HOST COMMAND…
void TwoHosts::write_starter() const {
  const std::string path = folder_ + "/starter";
  std::ofstream starter(path);
  starter << "#!/bin/sh\n"
          << "export MASTER_ADDR=" << first_address << " MASTER_PORT=29500 LOCAL_WORLD_SIZE=$1 WORLD_SIZE=$((2 * $1))\n"
          << "each=$1 rank=0 failed=0 processes=\n"
          << "shift\n"
          << "for host in 1 2; do\n"
          << "  export GROUP_RANK=$((host - 1)) GLOO_SOCKET_IFNAME=hkv$host LOCAL_RANK=0\n"
          << "  while [ $LOCAL_RANK -lt $each ]; do\n"
          << "    RANK=$rank " << folder_ << "/agent 10.231.0.$host \"$@\" &\n"
          << "    processes=\"$processes $!\" rank=$((rank + 1)) LOCAL_RANK=$((LOCAL_RANK + 1))\n"
          << "  done\n"
          << "done\n"
          << "for process in $processes; do wait $process || failed=1; done\n"
          << "exit $failed\n";
  starter.close();
  chmod(path.c_str(), S_IRWXU);
}

std::vector<std::string> TwoHosts::by_hand(int ranks_each, const std::vector<std::string>& program, Survivors) const {
  std::vector<std::string> command = {folder_ + "/starter", std::to_string(ranks_each)};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

std::vector<std::string> TwoHosts::torchrun(const std::string& python, int ranks_each,
                                            const std::vector<std::string>& program) const {
  std::vector<std::string> words = {"-m",
                                    "torch.distributed.run",
                                    "--no-python",
                                    "--nnodes=2",
                                    "--node-rank=$GROUP_RANK",
                                    "--nproc-per-node=" + std::to_string(ranks_each),
                                    std::string("--master-addr=") + first_address,
                                    "--master-port=29501"};
  words.insert(words.begin(), python);
  words.insert(words.end(), program.begin(), program.end());
  return by_hand(1, words);
}

std::vector<std::string> TwoHosts::open_mpi(int ranks_each, const std::vector<std::string>& program,
                                            Survivors survivors) const {
  const std::string ranks = ":" + std::to_string(ranks_each);
  std::vector<std::string> command = {"mpirun.openmpi",
                                      "--allow-run-as-root",
                                      "--mca",
                                      "plm_rsh_agent",
                                      folder_ + "/agent",
                                      "--host",
                                      addresses[0] + ranks + "," + addresses[1] + ranks,
                                      "--mca",
                                      "pml",
                                      "ob1",
                                      "--mca",
                                      "btl",
                                      "tcp,self,vader",
                                      "--mca",
                                      "btl_tcp_if_include",
                                      network,
                                      "--mca",
                                      "oob_tcp_if_include",
                                      network,
                                      "-x",
                                      "LD_LIBRARY_PATH",
                                      "--bind-to",
                                      "none"};
  append(command, program, survivors);
  return command;
}

std::vector<std::string> TwoHosts::mpich(int ranks_each, const std::vector<std::string>& program,
                                         Survivors survivors) const {
  const std::string ranks = ":" + std::to_string(ranks_each);
  std::vector<std::string> command = {"mpiexec.mpich",
                                      "-launcher",
                                      "ssh",
                                      "-launcher-exec",
                                      folder_ + "/agent",
                                      "-localhost",
                                      addresses[0],
                                      "-hosts",
                                      addresses[0] + ranks + "," + addresses[1] + ranks,
                                      "-n",
                                      std::to_string(2 * ranks_each)};
  // MPICH sees that both hosts are this machine. It would read a dead rank's memory, which is the end of the one that reads.
  if (survivors == Survivors::go_on)
    command.insert(command.end(), {"-disable-auto-cleanup", "-genv", "UCX_TLS", "^cma"});
  append(command, program, survivors);
  return command;
}

std::vector<std::string> TwoHosts::on(int host, const std::vector<std::string>& command) const {
  std::vector<std::string> words = {"ip",         "netns",   "exec",
                                    names_[host], "unshare", "--uts",
                                    "sh",         "-c",      "hostname " + names_[host] + "; exec \"$@\"",
                                    "enter"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

RunOutcome TwoHosts::run(const std::vector<std::string>& command, std::chrono::seconds timeout) const {
  std::string line = "export LD_LIBRARY_PATH=" + quoted(library_folder_) +
                     "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; exec timeout -k 2 " + std::to_string(timeout.count());
  for (const std::string& word : on(0, command)) line += " " + quoted(word);
  RunOutcome outcome;
  FILE* const pipe = popen(("{ " + line + "; } 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (std::size_t count = 0; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    outcome.output.append(buffer, count);
  const int status = pclose(pipe);
  constexpr int timed_out = 124;  // what timeout says
  if (WIFEXITED(status) && WEXITSTATUS(status) != timed_out) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace hocket
