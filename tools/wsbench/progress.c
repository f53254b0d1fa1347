/* SPDX-License-Identifier: MIT */
/* Progress; see progress.h. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define ERASE_LINE "\r\033[K"

void progress_init(struct progress *progress, enum progress_mode mode)
{
	bool terminal = isatty(STDERR_FILENO);

	*progress = (struct progress){
		.shown = mode == PROGRESS_ALWAYS ||
			 (mode == PROGRESS_AUTO && terminal),
		.terminal = terminal,
	};
}

void progress_begin(struct progress *progress, const char *name, uint32_t reps)
{
	progress->name = name;
	progress->reps = reps;
	progress_step(progress, 0);
}

void progress_step(void *progress_arg, uint32_t reps_done)
{
	const struct progress *progress = progress_arg;

	if (!progress->shown)
		return;
	fprintf(stderr, "%s%s: %" PRIu32 " of %" PRIu32 "%s",
		progress->terminal ? ERASE_LINE : "", progress->name, reps_done,
		progress->reps, progress->terminal ? "" : "\n");
	(void)fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->shown && progress->terminal)
		fputs(ERASE_LINE, stderr);
}
