// The functions of mpi_table.h, from whichever mpi.h this file is compiled with.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "comm/mpi/mpi_table.h"

// A message beyond this goes in pieces, since MPI counts in int. The other end knows the size and cuts it the same way.
constexpr std::int64_t largest_piece = std::int64_t{1} << 30;

struct HocketMpiRequest {
  std::vector<MPI_Request> pieces;
  std::int64_t expected = -1;  // bytes of a receive; -1: not compared
  std::int64_t received = 0;
  std::size_t done = 0;  // pieces that are complete
  bool cancelled = false;
};

namespace {

std::array<MPI_Comm, 2> spaces{MPI_COMM_NULL, MPI_COMM_NULL};
bool finalise = false;

HocketMpiThreads threads_of(int level) {
  if (level >= MPI_THREAD_MULTIPLE) return hocket_mpi_any_thread;
  return level >= MPI_THREAD_SERIALIZED ? hocket_mpi_one_at_a_time : hocket_mpi_main_thread;
}

int initialise(int& level, int& by_program) {
  if (const int error = MPI_Initialized(&by_program); error != MPI_SUCCESS) return error;
  if (by_program != 0) return MPI_Query_thread(&level);
  finalise = true;
  return MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
}

// Communicators of our own, so that the program's messages don't meet ours. Their errors come back instead of ending the job.
int make_spaces() {
  for (MPI_Comm& space : spaces) {
    if (const int error = MPI_Comm_dup(MPI_COMM_WORLD, &space); error != MPI_SUCCESS) return error;
    if (const int error = MPI_Comm_set_errhandler(space, MPI_ERRORS_RETURN); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int start(HocketMpiStarted* started) {
  int level = MPI_THREAD_SINGLE;
  int by_program = 0;
  if (const int error = initialise(level, by_program); error != MPI_SUCCESS) return error;
  if (const int error = make_spaces(); error != MPI_SUCCESS) return error;
  MPI_Comm_rank(spaces[0], &started->rank);
  MPI_Comm_size(spaces[0], &started->size);
  void* most = nullptr;
  int found = 0;
  MPI_Comm_get_attr(spaces[0], MPI_TAG_UB, static_cast<void*>(&most), &found);
  started->tags = found != 0 ? *static_cast<int*>(most) : 32767;  // what the standard promises
  started->threads = threads_of(level);
  started->by_program = by_program;
  return MPI_SUCCESS;
}

int stop() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised != 0) return MPI_SUCCESS;  // the program was faster
  for (MPI_Comm& space : spaces) {
    if (space != MPI_COMM_NULL) MPI_Comm_free(&space);
  }
  return finalise ? MPI_Finalize() : MPI_SUCCESS;
}

void copy_text(const char* from, char* text, std::int32_t bytes) {
  const std::size_t length = std::min(std::strlen(from), static_cast<std::size_t>(bytes - 1));
  std::memcpy(text, from, length);
  text[length] = '\0';
}

void library(char* text, std::int32_t bytes) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  copy_text(version.data(), text, bytes);
}

void explain(int error, char* text, std::int32_t bytes) {
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  if (error == hocket_mpi_wrong_size) {
    copy_text("the message has another size than was expected", text, bytes);
  } else if (MPI_Error_string(error, words.data(), &length) == MPI_SUCCESS) {
    copy_text(words.data(), text, bytes);
  } else {
    copy_text("an error that MPI has no words for", text, bytes);
  }
}

void drop(HocketMpiRequest* request) {
  for (MPI_Request& piece : request->pieces) {
    if (piece != MPI_REQUEST_NULL) MPI_Request_free(&piece);
  }
  delete request;
}

void cancel(HocketMpiRequest* request, std::int32_t* done) {
  if (!request->cancelled && request->expected >= 0) {
    for (MPI_Request& piece : request->pieces) {
      if (piece != MPI_REQUEST_NULL) MPI_Cancel(&piece);
    }
  }
  request->cancelled = true;
  *done = 1;
  for (MPI_Request& piece : request->pieces) {
    int complete = 1;
    // One that has failed is complete, too.
    if (piece != MPI_REQUEST_NULL && MPI_Test(&piece, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0)
      *done = 0;
  }
  if (*done != 0) drop(request);
}

int all_gather(const void* mine, void* all, std::int32_t bytes, HocketMpiRequest** request) {
  auto made = std::make_unique<HocketMpiRequest>();
  made->pieces.resize(1, MPI_REQUEST_NULL);
  const int error =
      MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, spaces[hocket_mpi_meetings], made->pieces.data());
  if (error == MPI_SUCCESS) *request = made.release();
  return error;
}

// `begin(first byte, bytes, request)` starts each piece; an empty message is a piece, too.
template <class Begin>
int in_pieces(std::int64_t bytes, std::int64_t expected, const Begin& begin, HocketMpiRequest** request) {
  auto made = std::make_unique<HocketMpiRequest>();
  made->expected = expected;
  const std::int64_t pieces = std::max<std::int64_t>(1, (bytes + largest_piece - 1) / largest_piece);
  made->pieces.resize(static_cast<std::size_t>(pieces), MPI_REQUEST_NULL);
  std::int64_t first = 0;
  for (MPI_Request& piece : made->pieces) {
    const std::int64_t size = std::min(largest_piece, bytes - first);
    if (const int error = begin(first, static_cast<int>(size), &piece); error != MPI_SUCCESS) {
      drop(made.release());
      return error;
    }
    first += size;
  }
  *request = made.release();
  return MPI_SUCCESS;
}

int send(HocketMpiSpace space, const void* data, std::int64_t bytes, std::int32_t rank, std::int32_t tag,
         HocketMpiRequest** request) {
  const auto begin = [&](std::int64_t first, int size, MPI_Request* piece) {
    return MPI_Isend(static_cast<const char*>(data) + first, size, MPI_BYTE, rank, tag, spaces[space], piece);
  };
  return in_pieces(bytes, -1, begin, request);
}

int receive(HocketMpiSpace space, void* data, std::int64_t bytes, std::int32_t rank, std::int32_t tag,
            HocketMpiRequest** request) {
  const auto begin = [&](std::int64_t first, int size, MPI_Request* piece) {
    return MPI_Irecv(static_cast<char*>(data) + first, size, MPI_BYTE, rank, tag, spaces[space], piece);
  };
  return in_pieces(bytes, bytes, begin, request);
}

int probe(HocketMpiSpace space, std::int32_t tag, std::int32_t* rank) {
  int found = 0;
  MPI_Status status;
  *rank = -1;
  const int error = MPI_Iprobe(MPI_ANY_SOURCE, tag, spaces[space], &found, &status);
  if (error == MPI_SUCCESS && found != 0) *rank = status.MPI_SOURCE;
  return error;
}

int test(HocketMpiRequest* request, std::int32_t* done) {
  *done = 0;
  while (request->done < request->pieces.size()) {
    int complete = 0;
    MPI_Status status;
    int error = MPI_Test(&request->pieces[request->done], &complete, &status);
    if (error != MPI_SUCCESS) {
      int kind = MPI_SUCCESS;
      MPI_Error_class(error, &kind);
      drop(request);
      return kind == MPI_ERR_TRUNCATE ? hocket_mpi_wrong_size : error;
    }
    if (complete == 0) return MPI_SUCCESS;
    int bytes = 0;
    if (request->expected >= 0) MPI_Get_count(&status, MPI_BYTE, &bytes);
    request->received += bytes;
    ++request->done;
  }
  *done = 1;
  const bool whole = request->expected < 0 || request->expected == request->received;
  delete request;
  return whole ? MPI_SUCCESS : hocket_mpi_wrong_size;
}

constexpr HocketMpiTable table{hocket_mpi_table_version,
                               HOCKET_MPI_PACKAGE,
                               start,
                               stop,
                               library,
                               explain,
                               all_gather,
                               send,
                               receive,
                               probe,
                               test,
                               cancel,
                               drop};

}  // namespace

extern "C" __attribute__((visibility("default"))) const HocketMpiTable* hocket_mpi_table() { return &table; }
