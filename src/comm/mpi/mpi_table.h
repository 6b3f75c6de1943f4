/* What hocket asks of an MPI library, as a table of C functions. Each plugin (libhocket_mpi_openmpi.so,
 * libhocket_mpi_mpich.so) is built from mpi_plugin.cpp against one library and exports hocket_mpi_table(). Nothing of MPI's own
 * types, which differ from library to library, is seen outside.
 *
 * Functions that return int give 0, or a number that `explain` puts into words. */
#pragma once

/* In C, so that a plugin can be. */
/* NOLINTBEGIN(modernize-redundant-void-arg) */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { hocket_mpi_table_version = 3 };

/* What of several threads the library allows. */
enum HocketMpiThreads {
  hocket_mpi_main_thread = 0, /* only the thread that has initialised it */
  hocket_mpi_one_at_a_time = 1,
  hocket_mpi_any_thread = 2,
};

/* What only one side of a message can be wrong about. */
enum { hocket_mpi_wrong_size = -1 };

struct HocketMpiStarted {
  int32_t rank;
  int32_t size;
  int32_t threads;    /* HocketMpiThreads */
  int32_t by_program; /* 1 if the program had initialised MPI before */
  int32_t tags;       /* a tag is below it */
};

typedef struct HocketMpiRequest HocketMpiRequest;

/* Messages of the two do not meet. */
enum HocketMpiSpace { hocket_mpi_meetings = 0, hocket_mpi_channels = 1 };

struct HocketMpiTable {
  uint32_t version;    /* hocket_mpi_table_version; whatever else changes, it stays the first field */
  const char* package; /* the Debian package that it was built against */

  /* Collective over all ranks, once in a process. */
  int (*start)(struct HocketMpiStarted* started);
  /* Collective. Finalises MPI if start() has initialised it. */
  int (*stop)(void);
  /* Up to `bytes` of text, with its end. */
  void (*library)(char* text, int32_t bytes);
  void (*explain)(int error, char* text, int32_t bytes);

  /* Everyone's `bytes` bytes in the order of ranks. */
  int (*all_gather)(const void* mine, void* all, int32_t bytes, HocketMpiRequest** request);
  int (*send)(enum HocketMpiSpace space, const void* data, int64_t bytes, int32_t rank, int32_t tag,
              HocketMpiRequest** request);
  int (*receive)(enum HocketMpiSpace space, void* data, int64_t bytes, int32_t rank, int32_t tag,
                 HocketMpiRequest** request);
  /* Sets *rank to one whose message with this tag has come, without receiving it; to -1 if there is none. */
  int (*probe)(enum HocketMpiSpace space, int32_t tag, int32_t* rank);
  /* Sets *done to 1 when the request is complete; then, and after an error, the request is gone. */
  int (*test)(HocketMpiRequest* request, int32_t* done);
  /* Nobody needs the message any more. Sets *done to 1 when nothing touches its memory from then on: MPI takes back a receive of which
   * nothing has come, others have to end first. Then the request is gone. To be called again until then, or until drop(). */
  void (*cancel)(HocketMpiRequest* request, int32_t* done);
  /* The request is gone, whatever becomes of its memory. */
  void (*drop)(HocketMpiRequest* request);
};

/* Exported by each plugin. */
const struct HocketMpiTable* hocket_mpi_table(void);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-redundant-void-arg) */
