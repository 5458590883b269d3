import type { Node } from "@/client"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"
import { useRemoveNode } from "@/hooks/platform/useNodes"
import { counted } from "@/lib/format"

/** Only where the API would not refuse it: nothing runs there, or the node drains. */
export function RemoveButton({ node: { id, name, draining_since, processes } }: { node: Node }) {
  const remove = useRemoveNode(id)
  if (processes.length > 0 && draining_since === null) return null
  const running = processes.length === 0 ? "" : ` ${counted(processes.length, "process", "processes")} end now and restart elsewhere.`
  return (
    <ConfirmButton
      label="Remove"
      aria-label={`Remove ${name}`}
      size="xs"
      variant="default"
      question={`Remove ${name}?`}
      consequence={`The platform removes the machine from this list and revokes its credential. An agent that still runs there ends. To bring the machine back, run gradstream join with a new token.${running}`}
      onConfirm={() => remove.mutateAsync()}
      pending={remove.isPending}
      error={remove.error}
    />
  )
}
