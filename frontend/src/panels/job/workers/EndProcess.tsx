import { Button, Group, Modal, Text } from "@mantine/core"
import type { Process } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { useFeed } from "@/hooks/job/useFeed"
import { useChoices, useEndProcess } from "@/hooks/job/useOverview"

const WORDS = { restart: "Restart", stop: "Stop" }

interface EndProcessProps {
  process: Process
  how: "restart" | "stop"
  onClose: () => void
}

/** Says what it costs to end a process, as the server estimates it now, before that is done. */
export function EndProcess({ process, how, onClose }: EndProcessProps) {
  const id = useFeed((feed) => feed.job.id)
  const choices = useChoices(id, process.id, true)
  const end = useEndProcess(id, process.id, how)
  const choice = choices.data?.[how]
  const confirm = () => {
    end.mutateAsync().then(onClose, () => undefined) // the reason comes as `error`
  }
  return (
    <Modal opened onClose={onClose} title={`${WORDS[how]} ${process.label}?`} centered closeButtonProps={{ "aria-label": "Close" }}>
      <Loaded {...choices} height={60}>
        <Text size="sm" fw={choice?.new_attempt ? 600 : 400}>
          {choice?.message}
        </Text>
      </Loaded>
      {end.error && (
        <Text size="sm" c="var(--gs-bad)" mt="sm" role="alert">
          {end.error.message}
        </Text>
      )}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button color="red.8" onClick={confirm} loading={end.isPending} disabled={!choice?.possible}>
          {WORDS[how]}
        </Button>
      </Group>
    </Modal>
  )
}
