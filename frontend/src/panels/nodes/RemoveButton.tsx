import type { Node } from "@/client"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"
import { useRemoveNode } from "@/hooks/platform/useNodes"
import { counted } from "@/lib/format"

/** Only where the API would not refuse it: nothing runs there, or the node drains. */
export function RemoveButton({ node: { id, name, draining_since, processes } }: { node: Node }) {
  const remove = useRemoveNode(id)
  if (processes.length > 0 && draining_since === null) return null
  const running = processes.length === 0 ? "" : ` ${counted(processes.length, "process", "processes")} end now, and are placed elsewhere.`
  return (
    <ConfirmButton
      label="Remove"
      aria-label={`Remove ${name}`}
      size="xs"
      variant="default"
      question={`Remove ${name}?`}
      consequence={`It leaves this list, and its credential is refused. If its agent still runs, it ends; gradstream join with another token brings the machine back.${running}`}
      onConfirm={() => remove.mutateAsync()}
      pending={remove.isPending}
      error={remove.error}
    />
  )
}
