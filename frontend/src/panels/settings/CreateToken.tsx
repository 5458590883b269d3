import { Alert, Button, Code, Group, NativeSelect, Text, TextInput } from "@mantine/core"
import { IconKey } from "@tabler/icons-react"
import { useId, useState, type SubmitEvent } from "react"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { useCreateToken } from "@/hooks/session/useTokens"
import { LIFETIMES, SCOPES, type Lifetime, type Scope } from "@/lib/session/tokens"

/** The new token stands here until the page is left: it cannot be read again. */
export function CreateToken() {
  const explained = useId()
  const [name, setName] = useState("")
  const [scope, setScope] = useState<Scope>("full")
  const [lifetime, setLifetime] = useState<Lifetime>("Never")
  const create = useCreateToken()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    create.mutate({ name, scope, expires_in: LIFETIMES[lifetime] }, { onSuccess: () => setName("") })
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Purpose of the new token"
          placeholder="ci"
          flex={1}
          miw={180}
          maxLength={100}
          required
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={create.error?.message}
        />
        <NativeSelect label="Scope" data={Object.keys(SCOPES)} value={scope} onChange={(event) => setScope(event.currentTarget.value as Scope)} aria-describedby={explained} />
        <NativeSelect label="Expires after" data={Object.keys(LIFETIMES)} value={lifetime} onChange={(event) => setLifetime(event.currentTarget.value as Lifetime)} />
        <Button type="submit" loading={create.isPending} disabled={name.trim() === ""}>
          Create
        </Button>
      </Group>
      <Text size="xs" c="dimmed" mt={6} id={explained}>
        {SCOPES[scope]}.
      </Text>
      {create.data && (
        <Alert mt="md" color="teal" variant="light" icon={<IconKey />} title={`The token “${create.data.name}”. Copy it now: it is shown only once.`}>
          <Group gap="xs" wrap="nowrap">
            <Code style={{ overflowWrap: "anywhere" }} data-testid="new-token">
              {create.data.token}
            </Code>
            <CopyIcon value={create.data.token} what="the token" />
          </Group>
        </Alert>
      )}
    </form>
  )
}
