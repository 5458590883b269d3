import type { UseMutationResult } from "@tanstack/react-query"
import type { Node } from "@/client"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"

export function RotateButton({ node: { name, status, rotating_since }, rotate }: { node: Node; rotate: UseMutationResult<Node, Error, void> }) {
  return (
    <ConfirmButton
      label="Rotate"
      aria-label={`Rotate the credential of ${name}`}
      size="xs"
      variant="default"
      disabled={Boolean(rotating_since)}
      question={`Rotate the credential of ${name}?`}
      consequence={`The agent makes a new credential and a new password for the live Redis ${whenRotated(status)}. The old ones end then, so copies of them open nothing. Running processes go on.`}
      onConfirm={() => rotate.mutateAsync()}
      pending={rotate.isPending}
      error={rotate.error}
    />
  )
}

export function whenRotated(status: Node["status"]): string {
  return status === "lost" ? "when it is back" : "within seconds"
}
