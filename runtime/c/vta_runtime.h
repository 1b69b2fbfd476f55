/* The accelerator's driver in C99: no allocation, no operating system, no library but <string.h>.
 *
 * A board says how its registers are reached and which memory it shares with the accelerator (struct vta_board); a
 * network that `vta compile --c` has written brings an image of that memory (struct vta_image) and a function that
 * runs it. One thread at a time may use a board. docs/c-runtime.md explains; docs/registers.md has the registers.
 */
#ifndef VTA_RUNTIME_H
#define VTA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. Everything but VTA_OK leaves the board usable. */
enum vta_status {
    VTA_OK = 0,
    VTA_NO_ACCELERATOR,   /* the registers are not those of this version */
    VTA_OTHER_HARDWARE,   /* the accelerator has another configuration than the image was made for */
    VTA_MISALIGNED,       /* the memory does not begin at a multiple of VTA_MEMORY_ALIGNMENT */
    VTA_SMALL_MEMORY,     /* the image needs more memory than the board has */
    VTA_NOT_LOADED,       /* another image is in the memory, or none */
    VTA_TIMEOUT,          /* a launch was given up after board->polls looks at its status */
    VTA_STUCK,            /* the accelerator does not become idle: reset it together with its memory */
    VTA_LAUNCH_FAILED     /* the accelerator ended with an error: board->error and board->place */
};

#define VTA_MEMORY_ALIGNMENT 4096u

struct vta_image {
    const uint8_t *data;   /* what the memory begins with */
    size_t data_bytes;
    size_t memory_bytes;   /* what it needs in all */
    size_t alignment;      /* of the memory's address, a multiple of VTA_MEMORY_ALIGNMENT */
    uint64_t digest;       /* of the configuration that it was made for */
};

struct vta_board {
    /* Filled in by the board's code. */
    void *context;                                                         /* given to the functions */
    uint32_t (*read)(void *context, uint32_t offset);                      /* a control register */
    void (*write)(void *context, uint32_t offset, uint32_t value);
    uint8_t *memory;                                                       /* shared memory, as this program sees it */
    uint64_t address;                                                      /* where the accelerator sees it */
    size_t memory_bytes;
    void (*flush)(void *context, size_t offset, size_t bytes);             /* what was written here becomes visible
                                                                              there; NULL: memory is coherent */
    void (*invalidate)(void *context, size_t offset, size_t bytes);        /* what was written there, here */
    void (*wait)(void *context);                                           /* called between two looks at the status:
                                                                              sleep until the interrupt; NULL: none */
    uint32_t polls;                                                        /* looks at the status before a launch is
                                                                              given up; 0: no end */
    /* Filled in by the runtime. */
    const struct vta_image *image;  /* what is loaded */
    uint32_t error;                 /* of the last launch: the code of docs/registers.md */
    uint32_t place;                 /* where: the index of an instruction, for most codes */
    uint64_t cycles;                /* that it took */
    uint64_t total_cycles;          /* of all launches since vta_load */
};

/* Checks that the accelerator and the memory are what the image needs, and copies it there. */
int vta_load(struct vta_board *board, const struct vta_image *image);

/* Runs `count` instructions at `offset` of the memory, and waits for their end. */
int vta_launch(struct vta_board *board, const struct vta_image *image, size_t offset, uint32_t count);

/* Memory that was written here, and will be read by the accelerator; and the other way round. */
void vta_flush(struct vta_board *board, size_t offset, size_t bytes);
void vta_invalidate(struct vta_board *board, size_t offset, size_t bytes);

/* What a status means, as a sentence. */
const char *vta_status_text(int status);

#ifdef __cplusplus
}
#endif

#endif
