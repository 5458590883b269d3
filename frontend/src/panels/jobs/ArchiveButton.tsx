import { Button } from "@mantine/core"
import { IconArchive } from "@tabler/icons-react"
import type { BulkAction, JobSummary } from "@/client"
import { hasEnded } from "@/lib/status"

interface ArchiveButtonProps {
  selectedJobs: readonly JobSummary[]
  run: (action: BulkAction) => Promise<void>
  pending: boolean
}

/** Asks no question, as archived jobs can be listed again. A refusal is shown by the bar. */
export function ArchiveButton({ selectedJobs, run, pending }: ArchiveButtonProps) {
  const back = selectedJobs.every(({ archived }) => archived)
  return (
    <Button
      size="xs"
      variant="default"
      leftSection={<IconArchive size={14} />}
      disabled={!selectedJobs.some(hasEnded)}
      loading={pending}
      onClick={() => void run(back ? "unarchive" : "archive").catch(() => undefined)}
    >
      {back ? "Unarchive" : "Archive"}
    </Button>
  )
}
