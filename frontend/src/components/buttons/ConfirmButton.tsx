import { Button, Group, Modal, Text, type ButtonProps } from "@mantine/core"
import { useState, type ReactNode } from "react"

interface ConfirmButtonProps extends Omit<ButtonProps, "children"> {
  label: string
  question: string
  /** Consequence of a yes. */
  consequence: ReactNode
  onConfirm: () => Promise<unknown>
  pending: boolean
  error: Error | null
}

/** A button for what cannot be taken back: it asks first, and stays open with the reason when it could not be done. Disabled, it keeps the focus. */
export function ConfirmButton({ label, question, consequence, onConfirm, pending, error, disabled = false, ...button }: ConfirmButtonProps) {
  /** The label that was pressed: where a button has become another one meanwhile, no click asked for that. */
  const [asked, ask] = useState<string | null>(null)
  const close = () => ask(null)
  const confirm = () => {
    onConfirm().then(close, () => undefined) // the reason comes as `error`
  }
  return (
    <>
      <Button {...button} data-disabled={disabled || undefined} aria-disabled={disabled || undefined} onClick={() => disabled || ask(label)}>
        {label}
      </Button>
      <Modal opened={asked === label} onClose={close} title={question} centered closeButtonProps={{ "aria-label": "Close" }}>
        <Text size="sm" component="div">
          {consequence}
        </Text>
        {error && (
          <Text size="sm" c="var(--gs-bad)" mt="sm" role="alert">
            {error.message}
          </Text>
        )}
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button color="red.8" onClick={confirm} loading={pending} data-autofocus>
            {label}
          </Button>
        </Group>
      </Modal>
    </>
  )
}
