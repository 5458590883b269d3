import { Button, type ButtonProps } from "@mantine/core"
import { useState } from "react"
import { ConfirmDialog, type Confirmation } from "./ConfirmDialog"

type ConfirmButtonProps = Omit<ButtonProps, "children"> & Confirmation

/** A button for what cannot be taken back: it asks first. Disabled, it keeps the focus. */
export function ConfirmButton({ label, question, consequence, onConfirm, pending, error, disabled = false, ...button }: ConfirmButtonProps) {
  /** The label that was pressed: where a button has become another one meanwhile, no click asked for that. */
  const [asked, ask] = useState<string | null>(null)
  return (
    <>
      <Button {...button} data-disabled={disabled || undefined} aria-disabled={disabled || undefined} onClick={() => disabled || ask(label)}>
        {label}
      </Button>
      <ConfirmDialog {...{ label, question, consequence, onConfirm, pending, error }} opened={asked === label} onClose={() => ask(null)} />
    </>
  )
}
