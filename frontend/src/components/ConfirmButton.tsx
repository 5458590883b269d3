import { Button, Group, Modal, Text, type ButtonProps } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import type { ReactNode } from "react"

interface ConfirmButtonProps extends Omit<ButtonProps, "children"> {
  label: string
  question: string
  /** What follows from a yes. */
  consequence: ReactNode
  onConfirm: () => Promise<unknown>
  pending: boolean
  error: Error | null
}

/** A button for what cannot be taken back: it asks first, and stays open with the reason when it could not be done. */
export function ConfirmButton({ label, question, consequence, onConfirm, pending, error, ...button }: ConfirmButtonProps) {
  const [opened, dialog] = useDisclosure(false)
  const confirm = () => {
    onConfirm().then(dialog.close, () => undefined) // the reason comes as `error`
  }
  return (
    <>
      <Button {...button} onClick={dialog.open}>
        {label}
      </Button>
      <Modal opened={opened} onClose={dialog.close} title={question} centered closeButtonProps={{ "aria-label": "Close" }}>
        <Text size="sm">{consequence}</Text>
        {error && (
          <Text size="sm" c="var(--gs-bad)" mt="sm" role="alert">
            {error.message}
          </Text>
        )}
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={dialog.close}>
            No, keep it
          </Button>
          <Button color="red.8" onClick={confirm} loading={pending} data-autofocus>
            {label}
          </Button>
        </Group>
      </Modal>
    </>
  )
}
