import { Center, Paper, Stack, Text, Title } from "@mantine/core"
import { useDocumentTitle } from "@mantine/hooks"
import { SignInForm } from "@/panels/SignInForm"
import classes from "./SignInPage.module.css"

export function SignInPage() {
  useDocumentTitle("Sign in · Gradstream")
  return (
    <Center component="main" className={classes.page}>
      <Paper className={classes.card}>
        <Stack gap="lg">
          <div>
            <img src="/assets/favicon.svg" width={44} height={44} alt="" />
            <Title order={1} mt="md">
              Sign in to Gradstream
            </Title>
            <Text c="dimmed" size="sm" mt={4}>
              Run <b>gradstream open</b> in a terminal. It opens a sign-in link that works once, within ten minutes. Or paste an API token.
            </Text>
          </div>
          <SignInForm />
        </Stack>
      </Paper>
    </Center>
  )
}
