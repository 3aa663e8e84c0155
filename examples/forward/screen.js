// The page of a screen in the shop. The program calls its listener with each link that a guest opens.
signalbox.on("show", async ({ dish }) => {
    console.log(`the screen shows ${dish}`);
    // The page's own message, which the program forwards to the cooks.
    await signalbox.call("shown", { dish });
});
