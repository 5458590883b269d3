import { Alert, Button, PasswordInput, Stack } from "@mantine/core"
import { IconAlertTriangle, IconClock } from "@tabler/icons-react"
import { useEffect, useRef, useState, type SubmitEvent } from "react"
import { useLocation, useNavigate } from "react-router"
import { useSignIn } from "@/hooks/session/useSession"
import { readSecret } from "@/lib/session/secret"

export function SignInForm() {
  const [secret, setSecret] = useState("")
  const signIn = useSignIn()
  const navigate = useNavigate()
  const location = useLocation()
  const { next = "/jobs", ended = false } = (location.state ?? {}) as { next?: string; ended?: boolean }
  const enter = (given: string) => signIn.mutate(readSecret(given), { onSuccess: () => void navigate(next, { replace: true }) })
  useCodeInAddress(enter)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    enter(secret)
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        {signIn.error && (
          <Alert color="red" variant="light" icon={<IconAlertTriangle />} title="Sign-in failed">
            {signIn.error.message}
          </Alert>
        )}
        {ended && !signIn.error && (
          <Alert color="yellow" variant="light" icon={<IconClock />} title="Your session has ended">
            Sign in again to return to the page.
          </Alert>
        )}
        <PasswordInput label="Code or token" autoComplete="current-password" required value={secret} onChange={(event) => setSecret(event.currentTarget.value)} data-autofocus />
        <Button type="submit" loading={signIn.isPending} disabled={secret.trim() === ""}>
          Sign in
        </Button>
      </Stack>
    </form>
  )
}

/** A code behind the `#` is used at once, once, and taken out of the address and so out of the history. */
function useCodeInAddress(enter: (code: string) => void) {
  const used = useRef(false)
  useEffect(() => {
    const code = window.location.hash.slice(1)
    if (!code || used.current) return
    used.current = true
    window.history.replaceState(window.history.state, "", window.location.pathname)
    enter(code)
  })
}
