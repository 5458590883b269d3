import { Button } from "@mantine/core"
import type { Node } from "@/client"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"
import { useDrainNode } from "@/hooks/platform/useNodes"

export function DrainButton({ node: { id, name, draining_since, processes } }: { node: Node }) {
  const change = useDrainNode(id)
  if (draining_since) {
    return (
      <Button size="xs" variant="default" loading={change.isPending} onClick={() => change.mutate(false)} aria-label={`Resume ${name}`}>
        Resume
      </Button>
    )
  }
  const running = processes.length === 0 ? "Nothing runs there." : "Running processes may finish."
  return (
    <ConfirmButton
      label="Drain"
      aria-label={`Drain ${name}`}
      size="xs"
      variant="default"
      question={`Drain ${name}?`}
      consequence={`Nothing new is scheduled here until you resume it, even after a restart. ${running}`}
      onConfirm={() => change.mutateAsync(true)}
      pending={change.isPending}
      error={change.error}
    />
  )
}
