import { Button, Group, Modal, Text } from "@mantine/core"
import type { ReactNode, RefObject } from "react"

export interface Confirmation {
  label: string
  question: string
  /** Consequence of a yes. */
  consequence: ReactNode
  onConfirm: () => Promise<unknown>
  pending: boolean
  error: Error | null
}

interface ConfirmDialogProps extends Confirmation {
  opened: boolean
  onClose: () => void
  /** Gets the focus afterwards, where the element that had it before is gone: an item of a menu. */
  returnTo?: RefObject<HTMLElement | null>
}

/** Asks before what cannot be taken back, and stays open with the reason when it could not be done. */
export function ConfirmDialog({ opened, onClose, label, question, consequence, onConfirm, pending, error, returnTo }: ConfirmDialogProps) {
  const confirm = () => {
    onConfirm().then(onClose, () => undefined) // the reason comes as `error`
  }
  return (
    <Modal
      opened={opened} onClose={onClose} title={question} centered closeButtonProps={{ "aria-label": "Close" }}
      returnFocus={!returnTo} onExitTransitionEnd={() => returnTo?.current?.focus({ preventScroll: true })}
    >
      <Text size="sm" component="div">
        {consequence}
      </Text>
      {error && (
        <Text size="sm" c="var(--gs-bad)" mt="sm" role="alert">
          {error.message}
        </Text>
      )}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button color="red.8" onClick={confirm} loading={pending} data-autofocus>
          {label}
        </Button>
      </Group>
    </Modal>
  )
}
