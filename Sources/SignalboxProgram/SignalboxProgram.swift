import SignalboxCommand

@main struct SignalboxProgram {
    static func main() async {
        await SignalboxEntry.main()
    }
}
